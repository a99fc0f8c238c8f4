from __future__ import annotations

from dowse._text.markdown import without_obsidian_comments
from rows import check_rows


def test_what_is_between_two_marks_is_left_out() -> None:
    def check(row: tuple[str, str]) -> None:
        written, left = row
        assert without_obsidian_comments(written) == left
        assert without_obsidian_comments(left) == left

    rows: list[tuple[str, str]] = [
        ("a %%b%% c", "a  c"),
        ("%% b %%\nc", "\nc"),
        ("a\n%%\nb\n\nc\n%%\nd", "a\n\n\n\n\n\nd"),
        ("%% b\nc %% d", "\n d"),
        ("%% b\n\nc %% d", "%% b\n\nc %% d"),
        ("100%% of 50%% is half", "100%% of 50%% is half"),
        ("```\n%% seen %%\n```", "```\n%% seen %%\n```"),
        ("`%%` is one, `%%` another", "`%%` is one, `%%` another"),
        ("<!-- %% -->a<!-- %% -->", "<!-- %% -->a<!-- %% -->"),
        ("%%\nnever closed", "%%\nnever closed"),
        ("%%a%%%%b%%", "  "),
        ("%", "%"),
    ]
    check_rows(rows, check)


def test_frontmatter_is_left_as_it_is() -> None:
    text = "---\na: %%b%%\n---\n%%c%%d"
    assert without_obsidian_comments(text, text.index("%%c")) == "---\na: %%b%%\n---\nd"
