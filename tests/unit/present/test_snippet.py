from __future__ import annotations

import re
import time
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._search.hits import Excerpt, excerpt
from dowse._text.analyzer import TextAnalyzer
from dowse._text.matching import TermsOf, Wanted
from dowse._text.options import KeywordOptions
from rows import check_rows

_TERMS = TextAnalyzer(KeywordOptions()).query_terms


def snippet(text: str, terms: Collection[str], terms_of: TermsOf) -> str:
    return excerpt(text, Wanted(terms), terms_of).text


def _snippet(text: str, query: str) -> str:
    return snippet(text, _TERMS(query), _TERMS)


def _marked(shown: str) -> list[str]:
    return re.findall(r"\*\*(.+?)\*\*", shown)


# ── What is marked ───────────────────────────────────────────────────────────


def test_matched_words_are_marked_in_the_form_in_which_they_are_written() -> None:
    assert _snippet("It configures (authentication), mostly.", "configure authenticating") == (
        "It **configures** (**authentication**), mostly."
    )


def test_technical_terms_are_marked_as_written() -> None:
    shown = _snippet("Use C++, C# or .NET; edit /etc/hosts.", "c++ c# .net /etc/hosts")
    assert shown == "Use **C++**, **C#** or **.NET**; edit **/etc/hosts**."


def test_a_prefix_marks_the_words_that_begin_with_it() -> None:
    shown = snippet("Authentication, authors and oaths.", ["auth*"], _TERMS)
    assert _marked(shown) == ["Authentication", "authors"]


def test_a_term_that_is_met_nowhere_marks_the_words_that_begin_with_it() -> None:
    assert _marked(_snippet("The authentication of users.", "auth users")) == [
        "authentication",
        "users",
    ]
    assert _marked(_snippet("auth and authentication", "auth")) == ["auth"]


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("全文検索エンジンは速い。", "検索エンジン", ["検索エンジン"]),
        ("데이터베이스를 설정합니다.", "데이터베이스", ["데이터베이스"]),
        ("Pythonで検索を書く。", "python 検索", ["Python", "検索"]),
        ("Python検索", "python 検索", ["Python検索"]),
        ("向量数据库很快，数据很多。", "数据库", ["数据库"]),
    ],
)
def test_text_without_blanks_is_marked_where_it_matches(
    text: str, query: str, marked: list[str]
) -> None:
    shown = _snippet(text, query)
    assert _marked(shown) == marked
    assert shown.replace("**", "") == text


def test_a_character_of_a_longer_term_is_not_marked_where_it_is_alone() -> None:
    terms = ["节", "节点", "点"]
    assert snippet("污点在节点上。", terms, lambda _: terms) == "污点在**节点**上。"
    assert snippet("一点。", ["点"], lambda _: ["点"]) == "一**点**。"


def test_a_verb_in_another_form_is_marked_as_far_as_it_agrees() -> None:
    assert snippet("寿司を食べた。", ["食べる"], lambda _: ["食べる"]) == "寿司を**食べ**た。"


# ── Inside Markdown ──────────────────────────────────────────────────────────


def test_marks_of_the_text_itself_are_left_out() -> None:
    def check(row: tuple[str, str]) -> None:
        text, shown = row
        assert _snippet(text, "token") == shown

    rows: list[tuple[str, str]] = [
        ("See [the token](http://x.org/a_b).", "See the **token**."),
        ("A [[notes/token|token store]] here.", "A **token** store here."),
        ("A [[token store|dendron://vault/notes.x]] here.", "A **token** store here."),
        ("| a |\n|---|\n| [[notes\\|token store]] |", "a · **token** store"),
        ("Call `refresh(token)` **before** _use_.", "Call refresh(**token**) before use."),
        ("**Every token** counts.", "Every **token** counts."),
        ("| key | token |\n|---|---|\n| a | b |", "key · **token** · a · b"),
        ("# Vault\n\nA token expires.", "A **token** expires."),
        ("# Token\n\nIt expires.", "It expires."),
        ("# Token", "**Token**"),
        ("Above.\n\n## Token {#token-1 .wide}\n\nIt expires.", "Above. **Token** · It expires."),
        ('## {{% heading "prerequisites" %}}\n\nA token.', "A **token**."),
        ("- One:\n\n     > [!NOTE]\n     > A token.", "One: Note: A **token**."),
        ("```py\nf(**token)\n```", r"f(**\*\*token**)"),
        ("Text ** token and `open.", r"Text \*\* **token** and open."),
        ("a token* b", r"a **token**\* b"),
        ("a *token", r"a **\*token**"),
        ("---\ntags: [token]\ndate: 2024-01-01\n---\nA token.", "A **token**."),
        ("<!-- token -->\n\nOne <b>token</b>.", "One **token**."),
    ]
    check_rows(rows, check)


def test_a_match_that_readers_do_not_see_is_shown_anyway() -> None:
    assert "**example.org/deep**" in _snippet("See [here](example.org/deep).", "example.org/deep")


def test_a_match_that_only_a_tag_of_a_site_has_shows_no_markup() -> None:
    text = '#### Raw blocks\n\n{{< feature-state state="stable" >}}\n\nVendors can [help](x.md).'
    assert _snippet(text, "stable") == "Vendors can help."
    assert _snippet(text, "x.md") == "Vendors can [help](**x.md**)."


# ── The window ───────────────────────────────────────────────────────────────


def test_the_window_with_most_distinct_words_is_shown() -> None:
    text = "rain " * 60 + "then the gateway clock drifted after the outage " + "wind " * 60
    shown = _snippet(text, "rain gateway clock")
    assert "**gateway** **clock**" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_the_window_begins_with_a_sentence_where_one_begins_nearby() -> None:
    text = "Filler words stand here for long. " * 10 + "Now the gateway drifts. " + "More. " * 60
    assert _snippet(text, "gateway").startswith("… Now the **gateway** drifts. More.")


def test_a_long_text_without_blanks_is_cut_by_characters() -> None:
    text = "これは長い文章である。" * 50 + "検索エンジンは速い。" + "終わりの文である。" * 50
    shown = _snippet(text, "検索エンジン")
    assert shown.startswith("… **検索エンジン**は速い。")
    assert len(shown) < 250


def test_without_a_match_the_beginning_is_shown() -> None:
    text = "First words of a text. " + "More of it follows here. " * 30
    assert _snippet(text, "zzz").startswith("First words of a text.")


def test_an_empty_text_has_an_empty_snippet() -> None:
    assert _snippet("", "anything") == ""
    assert _snippet(" \n\t ", "anything") == ""


def test_of_an_endless_word_the_beginning_is_shown() -> None:
    assert _snippet("x" * 5000, "anything") == "x" * 200 + " …"


_MARKUP = st.sampled_from("ab 検索*`_[]()|#-\n\\<>~=·{}!.日。")
_TEXTS = st.text(_MARKUP | st.characters(), max_size=600)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(_TEXTS, st.text(st.sampled_from("ab検索* "), max_size=20))
def test_marks_are_always_balanced(text: str, query: str) -> None:
    shown = _snippet(text, query)
    assert shown.count("**") % 2 == 0
    assert "***" not in shown
    assert "`" not in shown
    assert len(shown) < 1000


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "検索エンジン。"]), max_size=200))
def test_the_window_never_begins_in_the_middle_of_a_word(words: list[str]) -> None:
    shown = _snippet(" ".join(words), "gamma").removeprefix("… ").removesuffix(" …")
    assert shown.replace("**", "").split(" ")[0] in {*words, ""} or shown[0] in "検索エンジン。"


def test_a_long_line_takes_no_longer() -> None:
    def check(unit: str) -> None:
        text = unit * (20_000 // len(unit))
        began = time.process_time()
        snippet(text, ["token", "検索", "auth*", "zebra"], _TERMS)
        assert time.process_time() - began < 1.0

    rows: list[str] = [
        "token ",
        "検索エンジン",
        "[",
        "**",
        "`a``",
        "_a",
        "](",
        "<!--",
        "a,",
        "x" * 99,
        ".",
        "·",
    ]
    check_rows(rows, check)


# ── Where the match is ───────────────────────────────────────────────────────

_PASSAGE = """# Backups

The database is the heart of everything, the database of readings.
The database runs on the first machine.

## Schedule

- The database is kept.
- Every night a dump
  of the database is written to the *vault*, see [the plan](plan.md).

| what | when |
|---|---|
| ledger | weekly |

```sh
pgdump --database readings
```
"""


def _found(query: str, rarity: dict[str, float] | None = None) -> Excerpt:
    return excerpt(_PASSAGE, Wanted(_TERMS(query)), _TERMS, rarity or {})


@pytest.mark.parametrize(
    ("query", "line", "headings"),
    [
        ("heart", "The database is the heart", ("Backups",)),
        ("machine", "The database runs", ("Backups",)),
        ("schedule", "## Schedule", ("Backups", "Schedule")),
        ("night", "- Every night", ("Backups", "Schedule")),
        ("vault", "  of the database", ("Backups", "Schedule")),
        ("weekly", "| ledger", ("Backups", "Schedule")),
        ("pgdump", "pgdump --database", ("Backups", "Schedule")),
        ("plan.md", "  of the database", ("Backups", "Schedule")),  # seen only in the markup
        ("nothing", "# Backups", ("Backups",)),
    ],
)
def test_the_line_is_that_of_the_match_and_its_headings_are_named(
    query: str, line: str, headings: tuple[str, ...]
) -> None:
    found = _found(query)
    assert _PASSAGE.split("\n")[found.line].startswith(line)
    assert found.headings == headings


def test_a_rare_word_counts_more_than_several_frequent_ones() -> None:
    text = "The database of readings. " + "Nothing here. " * 30 + "The vault is closed."
    terms = _TERMS("database readings vault")
    often = {"databas": 0.1, "read": 0.1, "vault": 3.0}
    assert "**vault**" not in excerpt(text, Wanted(terms), _TERMS).text
    assert "**vault**" in excerpt(text, Wanted(terms), _TERMS, often).text


def test_a_comment_or_frontmatter_before_the_match_does_not_move_its_line() -> None:
    text = "---\ntitle: x\n---\n<!-- two\nlines -->\n\nThe vault.\n"
    assert excerpt(text, Wanted(["vault"]), _TERMS).line == 6
