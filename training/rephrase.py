"""Says a query in other words: synonyms, the forms of questions, the slips of typing."""

from __future__ import annotations

import re
from collections import defaultdict
from random import Random

from training.synonyms import NOUNS, VERBS, sets_of

_WORD = re.compile(r"[A-Za-z]+")
_VOWELS = "aeiou"
_LEADS = (
    "how do i",
    "how to",
    "how can i",
    "what is the way to",
    "i want to",
    "i need to",
    "is there a way to",
    "steps to",
    "trying to",
    "can i",
    "help me",
    "best way to",
)
_ABOUT = (
    "what is {}",
    "explain {}",
    "how does {} work",
    "question about {}",
    "{} meaning",
    "where can i read about {}",
    "{} not working",
    "problem with {}",
    "when do i need {}",
)


def continuous(verb: str) -> str:
    """The form in -ing of a verb or of a phrase that begins with one."""
    first, _, rest = verb.partition(" ")
    if first.endswith("e") and not first.endswith("ee"):
        first = first[:-1]
    elif re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", first):
        first += first[-1]
    return f"{first}ing {rest}".strip()


def plural(noun: str) -> str:
    """The regular plural of a noun."""
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _table() -> dict[str, list[str]]:
    table: dict[str, set[str]] = defaultdict(set)
    for text, other_form in ((VERBS, continuous), (NOUNS, plural)):
        for row in sets_of(text):
            _relate(table, row)
            _relate(table, [other_form(word) for word in row])
    return {word: sorted(others) for word, others in table.items()}


def _relate(table: dict[str, set[str]], words: list[str]) -> None:
    for word in words:
        if " " not in word:
            table[word].update(other for other in words if other != word)


SYNONYMS = _table()
"""For each word those that can be said in its place."""


def with_synonyms(text: str, rng: Random, share: float = 0.5) -> str:
    """The text with a share of the words that have synonyms replaced, at least one of them."""
    places = [found for found in _WORD.finditer(text) if found.group().lower() in SYNONYMS]
    if not places:
        return text
    sure = rng.randrange(len(places))
    chosen = [one for n, one in enumerate(places) if n == sure or rng.random() < share]
    for found in reversed(chosen):
        other = rng.choice(SYNONYMS[found.group().lower()])
        text = text[: found.start()] + other + text[found.end() :]
    return text


_BASES = {continuous(word): word for row in sets_of(VERBS) for word in row}
_VERBS = set(_BASES.values()) | {"use", "write", "work", "open", "mount", "query", "access"}


def as_question(heading: str, rng: Random) -> str:
    """A heading as a person would ask for it."""
    text = heading.strip(" .:?!")
    first, _, rest = text.partition(" ")
    verb = _BASES.get(first.lower(), first.lower())
    if rest and verb in _VERBS:
        return f"{rng.choice(_LEADS)} {verb} {rest}"
    if heading.rstrip().endswith("?"):
        return heading
    return rng.choice(_ABOUT).format(text)


def as_typed(text: str, rng: Random) -> str:
    """The text as people type it: often in lower case, without its end, sometimes with a slip."""
    text = " ".join(text.split())
    if rng.random() < 0.6:
        text = text.lower().rstrip(".?!:")
    return with_slip(text, rng) if rng.random() < 0.06 else text


def with_slip(text: str, rng: Random) -> str:
    """The text with two letters of a longer word in the wrong order."""
    places = [found for found in _WORD.finditer(text) if len(found.group()) > 4]
    if not places:
        return text
    at = (place := rng.choice(places)).start() + rng.randrange(1, len(place.group()) - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
