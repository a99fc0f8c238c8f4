"""Fields are laid down as one stream of terms, each as often as its field weighs."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest

from documents import make_document
from dowse._model import GAP, Batch, Fields
from dowse._text.analyzer import TextAnalyzer
from dowse._text.options import BOOSTED, KeywordOptions
from dowse.errors import BadSettings
from memory_store import MemoryStore
from rows import check_rows

_EVERYTHING = Fields(
    title="title",
    description="description",
    keywords=("keyword", "word"),
    tags=("tags/nested",),
    aliases=("alias",),
    author=("author",),
    category="category",
)


def counted(
    options: KeywordOptions, fields: Fields, headers: tuple[str, ...] = (), text: str = ""
) -> Counter[str]:
    return Counter(term for term, _ in TextAnalyzer(options).chunk_terms(fields, headers, text))


def test_each_field_weighs_what_the_options_say() -> None:
    options = KeywordOptions(stemming=False, headers=2.5, keywords=2.5, aliases=1.5)
    counts = counted(options, _EVERYTHING, ("heading",), "content")
    assert counts == {
        "title": 6,
        "heading": 3,  # 2.5, rounded
        "keyword": 3,
        "word": 3,
        "description": 4,
        "tags/nested": 4,
        "tags": 4,
        "nested": 4,
        "alias": 2,  # 1.5, rounded
        "author": 1,
        "category": 1,
        "content": 1,
    }


def test_what_a_boost_leaves_over_is_carried_and_rounded_in_the_end() -> None:
    def check(row: tuple[float, int, int]) -> None:
        boost, occurrences, expected = row
        options = KeywordOptions(content=boost)
        assert counted(options, Fields(), text="apple pear " * occurrences)["appl"] == expected

    rows: list[tuple[float, int, int]] = [
        (2.5, 1, 3),
        (2.5, 2, 5),
        (2.5, 3, 8),
        (2.5, 4, 10),
        (1.5, 1, 2),
        (1.5, 3, 5),
        (0.4, 1, 0),
        (0.4, 2, 1),
        (0.4, 5, 2),
        (0.1, 10, 1),
        (1 / 3, 3, 1),
        (0.0, 7, 0),
        (10, 2, 20),
        (1, 3, 3),
    ]
    check_rows(rows, check)


def test_what_is_left_over_is_carried_from_field_to_field() -> None:
    options = KeywordOptions(headers=2.5, keywords=2.5)
    assert counted(options, Fields(keywords=("apple",)), ("apple",))["appl"] == 5


def test_positions_leave_a_gap_between_fields() -> None:
    terms = TextAnalyzer(KeywordOptions()).chunk_terms(_EVERYTHING, ("heading",), "some content")
    first: dict[str, int] = {}
    for term, position in terms:
        first.setdefault(term, position)
    steps = [later - earlier for earlier, later in pairwise(sorted(first.values()))]
    assert first["titl"] == 0
    assert sum(step >= 100 for step in steps) == len(BOOSTED) - 1
    assert all(step >= 100 or step <= 2 for step in steps)


def test_positions_never_go_back() -> None:
    text = "Node.js and std::vector in C++ by getUserById, 検索 too"
    terms = TextAnalyzer(KeywordOptions()).chunk_terms(_EVERYTHING, ("a heading",), text)
    positions = [position for _, position in terms]
    assert positions == sorted(positions)


def test_a_field_without_weight_is_not_read() -> None:
    options = KeywordOptions(**dict.fromkeys(BOOSTED, 0.0))  # type: ignore[arg-type]
    assert counted(options, _EVERYTHING, ("heading",), "content") == {}


def test_the_stamp_holds_every_option() -> None:
    stamp = TextAnalyzer(KeywordOptions(title=4.0)).stamp
    assert stamp["title"] == 4.0
    assert stamp["language"] == "english"
    assert {*BOOSTED, "stemming", "stopwords", "version"} <= stamp.keys()
    assert stamp != TextAnalyzer(KeywordOptions()).stamp


@pytest.mark.parametrize(
    "options", [{"language": "klingon"}, {"title": -0.1}, {"content": 10.5}, {"tags": math.nan}]
)
def test_options_that_no_index_could_be_built_with(options: dict[str, object]) -> None:
    with pytest.raises(BadSettings, match=f"keyword.{next(iter(options))}"):
        KeywordOptions(**options)  # type: ignore[arg-type]


def test_bm25f_as_calculated_by_hand() -> None:
    """Three documents of one chunk each, scored for one word.

    Titles weigh 3, the text 1:
    1: title "apple" (3 terms), text "pear plum"            → 3 of 5 terms
    2: title "pear" (3 terms), text "apple plum cherry kiwi" → 1 of 7 terms
    3: title "plum" (3 terms), text "kiwi"                   → 0 of 4 terms
    """
    store = MemoryStore(TextAnalyzer(KeywordOptions(stemming=False, title=3.0)))
    texts = {"apple": "pear plum", "pear": "apple plum cherry kiwi", "plum": "kiwi"}
    documents = [
        make_document(f"{title}.md", text, fields=Fields(title=title))
        for title, text in texts.items()
    ]
    with store.write() as writing:
        writing.start({})
        writing.apply(Batch(tuple(documents)))
    with store.read() as reading:
        scores = reading.keyword.search("body", ["apple"], 10)
    # rarity ln(1 + 1.5 / 2.5) = 0.470004; average length 16 / 3
    # 1: 0.470004 · 3 · 2.2 / (3 + 1.2 · (0.25 + 0.75 · 5 / 5.3333))
    # 2: 0.470004 · 1 · 2.2 / (1 + 1.2 · (0.25 + 0.75 · 7 / 5.3333))
    assert [key for key, _ in scores] == [1, 2]
    assert [score for _, score in scores] == pytest.approx([0.748603, 0.416729], abs=1e-6)


def test_one_field_of_weight_one_is_plain_bm25() -> None:
    plain = TextAnalyzer(KeywordOptions())
    text = "gateway station gateway"
    assert plain.chunk_terms(Fields(), (), text) == [("gateway", 0), ("station", 1), ("gateway", 2)]


@pytest.mark.parametrize("boost", [0.0, 0.4, 1.0, 2.5, 3.0])
def test_a_stream_has_the_terms_of_a_chunk_as_often_as_they_weigh(boost: float) -> None:
    analyzer = TextAnalyzer(KeywordOptions(headers=boost, content=boost))
    text = "Node.js, std::vector in C++ by getUserById\x1f 検索 too\u2028 ¨ and and\tand a\u00a0b"
    chunk = (_EVERYTHING, ("a heading", "a\x1fheading"), text)
    stream = analyzer.chunk_stream(*chunk).split(" ")
    terms = [term for term, _ in analyzer.chunk_terms(*chunk)]
    assert Counter(term for term in stream if term != GAP) == Counter(terms)


def test_terms_follow_each_other_in_a_stream_as_in_the_chunk() -> None:
    analyzer = TextAnalyzer(KeywordOptions(title=2.0, content=1.5))
    stream = analyzer.chunk_stream(Fields(title="apple pear"), (), "apple plum apple")
    laid = [["appl", "pear"], ["appl", "pear"], ["appl", "plum", "appl"], ["appl", "plum", GAP]]
    assert stream == f" {GAP} ".join(map(" ".join, laid))
    assert analyzer.code_stream("getUser(a)") == "getuser get user a"
