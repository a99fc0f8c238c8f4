"""The kind of a query, and the weights that it changes."""

from __future__ import annotations

import pytest

from dowse._search.understand import ClassifyOptions, classify
from dowse.errors import BadSettings
from rows import check_rows


def test_exact_names_are_factual() -> None:
    def check(text: str) -> None:
        assert classify(text) == "factual"

    rows: list[str] = [
        "getUserById function",
        "parseJSON",
        "where is userID set",
        "HTTPResponseError",
        "UserServiceFactory",
        "parse_json_data",
        "what is MAX_RETRIES?",
        "the `kubectl` command",
        "python 3.11",
        "What changed in Kubernetes 1.29?",
        "v2 migration",
        "release 1.2.3-rc1",
        '"rolling update"',
        "“rolling update” guide",
        "guide to getUserById",
    ]
    check_rows(rows, check)


@pytest.mark.parametrize(
    "text",
    [
        "installation guide",
        "Tutorials for beginners",
        "DOCS",
        "where is the documentation?",
        "section 3.2",
        "chapter about wind",
        "style-guide",
        "[[Meeting notes]]",
        "what links to [[Wind|the wind note]]?",
    ],
)
def test_places_are_navigational(text: str) -> None:
    assert classify(text) == "navigational"


def test_everything_else_is_exploratory() -> None:
    def check(text: str) -> None:
        assert classify(text) == "exploratory"

    rows: list[str] = [
        "How do I configure authentication?",
        "why is the sky blue",
        "wind power",
        "",
        "?!",
        "guided meditation",
        "misguide intersection docsis",
        "some fruit, e.g. apples, i.e. red ones",
        "I/O errors",
        "iPhone and iPad on macOS",
        "JSON APIs and URLs",
        "GitHub or JavaScript",
        "gRPC with mTLS",
        "IPv4 address",
        "growth of 3.5% or 2.25 %",
        "it costs $4.99",
        "about 1,234.5 people",
        "_emphasis_ and __bold__",
        '5" and 7" pipes',
        "at 12:30 on 2024-05-31",
        "[] and [[]]",
        "wind path:myNotes/v1.2.3 -getUserById title:“two words”",
    ]
    check_rows(rows, check)


def test_long_texts_of_any_shape_are_classified() -> None:
    def check(unit: str) -> None:
        assert classify(unit * 5000 + "%")

    rows: list[str] = ["A", "aB", "Ab", "1.", "1", "_", "[", "a_", "guide", "\ud800"]
    check_rows(rows, check)


def test_the_kind_of_a_query_favours_one_strategy() -> None:
    options = ClassifyOptions()
    even = {"semantic": 1.0, "keyword": 1.0, "code": 1.0, "graph": 1.0}
    assert not options.enabled
    assert options.multipliers("factual") == even | {"keyword": 1.5}
    assert options.multipliers("navigational") == even | {"graph": 1.5}
    assert options.multipliers("exploratory") == even | {"semantic": 1.3}
    assert ClassifyOptions(factual=3).multipliers("factual")["keyword"] == 3.0


@pytest.mark.parametrize("name", ["factual", "navigational", "exploratory"])
@pytest.mark.parametrize("value", [-0.1, 10.1, float("nan")])
def test_factors_out_of_range_are_rejected(name: str, value: float) -> None:
    with pytest.raises(BadSettings, match=f"classify.{name}"):
        ClassifyOptions(**{name: value})  # type: ignore[arg-type]
