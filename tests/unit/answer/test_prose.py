from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse._search.answer import paragraphs


def sentences(text: str) -> list[str]:
    return [sentence for paragraph in paragraphs(text) for sentence in paragraph.sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("It works, e.g. with v1.2.3. Done.", ["It works, e.g. with v1.2.3.", "Done."]),
        ("Edit dowse.toml. dowse reads it.", ["Edit dowse.toml.", "dowse reads it."]),
        ("See https://x.org/a.b?c=d. Next.", ["See https://x.org/a.b?c=d.", "Next."]),
        ("Pi is 3.14 of it. Yes.", ["Pi is 3.14 of it.", "Yes."]),
        ("Dr. A and J. R. B came.", ["Dr. A and J. R. B came."]),
        ("See fig. 2 or no. 5. I say no. Stop.", ["See fig. 2 or no. 5.", "I say no.", "Stop."]),
        ("At 5 p.m. we left at 6 p.m. He stayed.", ["At 5 p.m. we left at 6 p.m.", "He stayed."]),
        ("Salt, oil, etc. are in it. And so on.", ["Salt, oil, etc. are in it.", "And so on."]),
        ("wait… what? Yes.", ["wait… what?", "Yes."]),
        ('"It ended." Then (it began.) Again.', ['"It ended."', "Then (it began.)", "Again."]),
        ("速い。「本当か？」と聞いた。はい！", ["速い。", "「本当か？」と聞いた。", "はい！"]),
        ("यह एक है। दूसरा है।", ["यह एक है।", "दूसरा है।"]),
    ],
)
def test_a_sentence_ends_where_a_reader_would_end_it(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Bold** and *slanted*, ~~old~~ and ==lit==.", "Bold and slanted, old and lit."),
        ("A **bold *and* slanted** text.", "A bold and slanted text."),
        ("Use `a * b` or `f. G()` here.", "Use a * b or f. G() here."),
        ("Glob *.md and *.txt files.", "Glob *.md and *.txt files."),
        ("A [link](http://x.org/(a)) and [two][ref].", "A link and two."),
        ("[![logo](a.png)](b) shown.\n\n![A chart.](c.png)", "shown."),
        ("See [[Page#Part|the page]] and [[Other]].", "See the page and Other."),
        ("Known[^1] since [3, 4] long [1].", "Known since long."),
        ("But items[1] stays.", "But items[1] stays."),
        (r"Not \*slanted\* at all.", "Not *slanted* at all."),
        ("snake_case_name and _this_ one.", "snake_case_name and this one."),
        ("Fish &amp; chips<br>here, H<sub>2</sub>O.", "Fish & chips here, H2O."),
        ("A Vec<String> stays.", "A Vec<String> stays."),
        ('Many {{< term text="pods" >}} run.', "Many pods run."),
        ("Marked text. ^block-1", "Marked text."),
    ],
)
def test_marks_are_left_out(text: str, expected: str) -> None:
    assert sentences(text) == [expected]


def test_blocks_end_sentences() -> None:
    text = (
        "---\ntitle: x\n---\n# Heading\nText goes\non here\n\n- item one\n- [x] item two\n"
        "  goes on\n3. step three\n\nOld heading\n===\n\n> [!note] Mind\n> the gap.\n\n***\n"
        "<!-- hidden. -->\n[ref]: http://x.org\n[^1]: A footnote says so.\n\n    indented()\n"
    )
    assert sentences(text) == [
        "Text goes on here",
        "item one",
        "item two goes on",
        "step three",
        "Note: Mind the gap.",
        "A footnote says so.",
    ]


def test_rows_of_a_table_say_what_their_columns_are() -> None:
    text = "| Option | Default |\n|:--|---|\n| `top_n` | 5 |\n| a \\| b | |\n\nAfter it."
    assert sentences(text) == ["Option: top_n; Default: 5", "Option: a | b", "After it."]
    assert sentences("name | use\n--- | ---\nx | y") == ["name: x; use: y"]
    assert sentences("| no | head |\n| at | all |") == ["no; head", "at; all"]


def test_code_is_no_sentence_unless_one_line_of_it_ends_one() -> None:
    fence = "```sh\n$ dowse index --rebuild\n```\n"
    assert sentences(f"Build it again with:\n\n{fence}") == [
        "Build it again with: dowse index --rebuild"
    ]
    assert sentences(f"Nothing leads there.\n\n{fence}") == ["Nothing leads there."]
    assert sentences("Two lines:\n```\na = 1\nb = 2\n```\nEnd.") == ["Two lines:", "End."]
    assert sentences("~~~\nnever. closed.\n") == []


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 20_000,
        "**" * 10_000,
        "`" * 19_999 + " x",
        "_a" * 10_000,
        "<!--" * 5000,
        "](" * 9000,
        "| " * 10_000 + "\n" + "|-" * 9000,
        "> " * 9000,
        ". " * 10_000,
        "<a " * 6000,
        "- " * 9000,
        "`a``b" * 4000,
        "--><!--" * 3000,
        "{{< " * 5000,
    ],
)
def test_hostile_text_takes_no_longer(hostile: str) -> None:
    began = time.process_time()
    sentences(hostile)
    assert time.process_time() - began < 2.0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(st.sampled_from("aB. !?。*_`[]()|#>-:\n\\<1~") | st.characters(), max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    for sentence in sentences(text):
        assert sentence == " ".join(sentence.split())
        assert sentence
