from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dowse._model import Hit, Response
from dowse._search.formats import as_markdown

if TYPE_CHECKING:
    from unit.conftest import MakeHit


def _response(*hits: Hit, query: str = "tokens", notices: tuple[str, ...] = ()) -> Response:
    return Response(query=query, hits=hits, seconds={"fuse": 0.1}, notices=notices)


def test_each_result_has_its_place_and_its_text(make_hit: MakeHit) -> None:
    hit = replace(
        make_hit("Some *text*.\n", title="Auth", header_path=("Auth", "Keys")),
        match="possible",
        reason="2 of 3 words found",
    )
    assert as_markdown(_response(hit)) == (
        "# Results for: tokens\n\n"
        "## 1. Auth · Keys · `notes.md:3-7` · possible match (2 of 3 words found)\n\n"
        "```markdown\nSome *text*.\n```\n"
    )


def test_no_good_match_is_said_before_the_results(make_hit: MakeHit) -> None:
    shown = as_markdown(replace(_response(make_hit("text")), no_good_match=True))
    assert "\n\nNo good match. Nearest:\n\n## 1. " in shown


def test_a_changed_file_is_named(make_hit: MakeHit) -> None:
    assert "weak match · changed since it was indexed" in as_markdown(
        _response(make_hit("text", stale=True))
    )


def test_text_cannot_break_out_of_its_fence(make_hit: MakeHit) -> None:
    hostile = "x\n```\n````\n# Not a heading\n`````markdown\n"
    shown = as_markdown(_response(make_hit(hostile)))
    assert "``````markdown\nx\n" in shown
    assert shown.endswith("\n``````\n")


def test_titles_paths_and_queries_cannot_become_markup(make_hit: MakeHit) -> None:
    hit = make_hit(
        "text", title="# [x](y)\n\n## 9. *Fake*", header_path=("<b>a", "b"), document="a`b.md"
    )
    lines = as_markdown(_response(hit, query="q\n# fake", notices=("n\n# fake",))).split("\n")
    headings = [line for line in lines if re.match("#+ ", line)]
    assert headings == [
        r"# Results for: q \# fake",
        r"## 1. \# \[x\](y) \#\# 9. \*Fake\* · \<b\>a > b · `` a`b.md:3-7 `` · weak match",
    ]
    assert r"> n \# fake" in lines


def test_names_with_underscores_stay_readable(make_hit: MakeHit) -> None:
    assert "## 1. snake_case · " in as_markdown(_response(make_hit("t", title="snake_case")))


def test_nothing_found_says_what_was_near_and_what_kept_it_out(make_hit: MakeHit) -> None:
    response = Response(query="q", nearest=(make_hit("near", title="Near"),), removed={"tag:x": 4})
    shown = as_markdown(response)
    assert "Nothing was found." in shown
    assert "- `tag:x` kept out 4" in shown
    assert "## 1. Near" in shown


def test_what_was_found_but_does_not_fit_is_not_called_nothing() -> None:
    response = Response(
        query="q", counts={"top_n": 5}, notices=("0 of 5 results fit into 9 tokens.",)
    )
    assert "Nothing was found." not in as_markdown(response)


def test_the_time_it_took_changes_nothing(make_hit: MakeHit) -> None:
    hit = make_hit("text")
    slow = Response(query="tokens", hits=(hit,), seconds={"fuse": 9.9})
    assert as_markdown(slow) == as_markdown(_response(hit))
