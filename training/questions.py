"""Turns a sentence of a document into a question that the rest of its passage answers."""

from __future__ import annotations

import re
from random import Random

_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:If you (?:want|need|wish|would like) )?to ([a-z][^,]{8,90}), ",
     ("how do i {0}", "how to {0}", "i want to {0}", "what do i have to do to {0}")),
    (r"You can (?:also |then |now )?([a-z].{8,100})",
     ("can i {0}", "how can i {0}", "is it possible to {0}", "am i able to {0}")),
    (r"If (?!you (?:want|need|wish|would like) to)([a-z][^,]{8,90}), ",
     ("what happens if {0}", "what should i do if {0}", "what if {0}")),
    (r"When (?!using)([a-z][^,]{8,90}), ", ("what happens when {0}", "what to do when {0}")),
    (r"(?:You can )?use ((?:the |an? )?[\w.` -]{2,40}?) to ([a-z].{8,90})",
     ("how to {1}", "what can i use to {1}", "what is {0} for", "how do i {1}")),
    (r"(.{3,60}?) (?:allows?|lets?|enables?|helps?) (?:you|users|people) (?:to )?([a-z].{8,90})",
     ("how can i {1}", "what lets me {1}", "why use {0}")),
    (r"((?:The |An? )?[\w.` -]{3,40}?) is (?:an? |the )\w.{10,}",
     ("what is {0}", "what does {0} mean", "explain {0}")),
    (r"You (?:must|should|need to|have to) ([a-z].{8,90}?)(?: before .*|\.|$)",
     ("do i need to {0}", "why do i have to {0}", "should i {0}")),
    (r"(?:Do not|Don't|Never|Avoid) ([a-z].{8,90})", ("why not {0}", "can i {0}", "should i {0}")),
    (r"([A-Z].{12,90}?) because .{12,}", ("why is it that {0}", "reason why {0}")),
    (r"By default, (.{10,90})", ("what is the default: {0}", "how do i change that {0}")),
)  # fmt: skip
_COMPILED = tuple((re.compile(rule, re.IGNORECASE), forms) for rule, forms in _RULES)
_PERSONS = {"you": "i", "your": "my", "yours": "mine", "yourself": "myself", "you're": "i'm",
            "you are": "i am", "you’re": "i'm"}  # fmt: skip
_PERSON = re.compile(r"\b(?:you are|you['’]re|yourself|yours|your|you)\b", re.IGNORECASE)


def question_from(sentence: str, rng: Random) -> str:
    """A question that the sentence answers or leads to; empty where no rule fits."""
    for rule, forms in _COMPILED:
        found = rule.match(sentence)
        if found:
            parts = [_part(one) for one in found.groups() if one]
            return _asked_by_me(rng.choice(forms).format(*parts, *parts))
    return ""


def _part(text: str) -> str:
    """A piece of a sentence without its end, and without a capital at its start."""
    text = re.split(r"[.;:(—]\s|[.;:]$|, (?:which|so|but|and) ", text)[0].strip(" .,:;")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _asked_by_me(text: str) -> str:
    return _PERSON.sub(lambda found: _PERSONS[found.group().lower()], text)
