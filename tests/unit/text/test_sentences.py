from __future__ import annotations

import pytest

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._search.hits import excerpt
from dowse._text.matching import Wanted
from dowse._text.sentences import is_finished, sentence_ends, shorten, split_sentences

_OPTIONS = ChunkOptions(chunk_min=40, chunk_goal=60, chunk_max=110, overlap=0)


def _first_chunk(text: str) -> str:
    first = chunk(parse("a.txt", text), _OPTIONS).chunks[0]
    return text[first.start : first.end].strip()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", " Two!", " Three?", " Four"]),
        (
            'He said "no." Then (he left.) He did.',
            ['He said "no."', " Then (he left.)", " He did."],
        ),
        ("It is **bold.** And more.", ["It is **bold.**", " And more."]),
        ("See e.g. Fig. 3 by Dr. Who. Then go.", ["See e.g. Fig. 3 by Dr. Who.", " Then go."]),
        ("  3. Then stop it. Wait… what?", ["  3. Then stop it.", " Wait… what?"]),
        ("一。「二！」三？", ["一。", "「二！」", "三？", ""]),
        ("यह एक है। यह दो है।", ["यह एक है।", " यह दो है।"]),
    ],
)
def test_a_text_is_split_where_its_sentences_end(text: str, sentences: list[str]) -> None:
    assert list(split_sentences(text)) == sentences


def test_ends_are_looked_for_between_two_offsets() -> None:
    text = "One. Two. Three. Four."
    assert list(sentence_ends(text, 5, 17)) == [9, 16]


@pytest.mark.parametrize("text", ["Yes.", "Yes!”", "是。」", "क्या।", "**Yes.**"])
def test_a_sentence_with_its_stop_is_finished(text: str) -> None:
    assert is_finished(text)


@pytest.mark.parametrize("text", ["", "An item", "Three ways:", '"quoted"'])
def test_a_fragment_is_not_finished(text: str) -> None:
    assert not is_finished(text)


_WORDS = "several words that fill the line "


def test_a_chunk_is_cut_after_a_sentence_and_not_after_an_abbreviation() -> None:
    text = "This sentence ends a little early, just here. We all met Dr. Who with " + _WORDS * 2
    assert _first_chunk(text).endswith("here.")


def test_a_chunk_is_cut_after_a_sentence_in_any_script() -> None:
    text = "यह पहला वाक्य है और इसमें कुछ शब्द हैं। " * 5
    assert _first_chunk(text).endswith("।")


def test_a_text_is_shortened_after_a_sentence_and_not_after_an_abbreviation() -> None:
    text = "This is said first. The rest was written later by Dr. Who and by others."
    assert shorten(text, 60).removesuffix(" …").endswith("Dr. Who")


def test_a_snippet_does_not_begin_after_an_abbreviation() -> None:
    text = f"{_WORDS * 8} and it was Dr. Who token then. {_WORDS * 8}"
    assert "Dr. Who **token**" in excerpt(text, Wanted(["token"]), str.split).text
