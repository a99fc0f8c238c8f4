"""Documents as HTML: links open inside the page, and nothing in them can do harm."""

from __future__ import annotations

import contextvars
import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from dowse._interfaces.http.render import render
from dowse._util.process import GivenUp, until_given_up

ADDRESS = "/api/v1/document"


def _html(text: str, **targets: str | None) -> str:
    return render(text, "notes", targets)


def test_a_document_as_text_and_as_html(client: TestClient) -> None:
    told = client.get(ADDRESS, params={"reference": "stations"}).json()
    assert told["document"] == "reference/stations.md"
    assert told["html"] is None
    shown = client.get(ADDRESS, params={"reference": "stations", "format": "html"}).json()
    assert "<h1" in shown["html"]
    assert "category: reference" not in shown["html"]
    assert 'data-document="guides/restore.md"' in shown["html"]
    assert '<span data-dangling="">nowhere at all</span>' in shown["html"]
    assert 'data-document="journal/day.txt"' in shown["html"]
    assert 'class="language-python"' in shown["html"]


def test_a_part_keeps_the_lines_of_the_document(client: TestClient) -> None:
    found = client.get(
        "/api/v1/search", params={"q": "barometer part 7", "n": 1, "passages": "true"}
    ).json()
    hit = found["hits"][0]
    asked = {"reference": hit["id"], "format": "html"}
    part = client.get(ADDRESS, params=asked).json()
    whole = client.get(ADDRESS, params={**asked, "whole": "true"}).json()
    for told in (part, whole):
        assert (told["first_line"], told["last_line"]) == (hit["first_line"], hit["last_line"])
    assert len(part["html"]) < len(whole["html"])
    numbers = [int(one) for one in re.findall(r'data-first-line="(\d+)"', part["html"])]
    assert hit["first_line"] <= min(numbers) <= max(numbers) <= hit["last_line"]
    assert f'data-first-line="{numbers[0]}"' in whole["html"]


def test_links() -> None:
    assert _html("[[a|A]]", a="x/a.md") == (
        '<p data-first-line="1" data-last-line="1">'
        '<a href="?project=notes&amp;document=x/a.md" data-document="x/a.md"'
        ' rel="noopener noreferrer nofollow">A</a></p>\n'
    )
    assert 'data-anchor="part"' in _html("[b](b.md#part)", **{"b.md": "b.md"})
    assert '<a href="https://example.org"' in _html("[c](https://example.org)")
    assert "href" not in _html("[d](../elsewhere.md)")
    assert "<code>[[a]]</code>" in _html("`[[a]]`", a="a.md")


def test_pictures_are_reported_in_words() -> None:
    for text in ("![a mast](https://example.org/mast.png)", "![[a mast]]"):
        assert _html(text) == (
            '<p data-first-line="1" data-last-line="1"><span data-image="">a mast</span></p>\n'
        )
    assert "<img" not in _html('<img src="https://example.org/x.png">')
    assert 'data-image=""' in _html('<img src="//example.org/x.png" alt="far">')


@pytest.mark.parametrize(
    "text",
    [
        "![a mast](../img/the%20mast.png)",
        "![a mast](<../img/the mast.png>)",
        "![[../img/the mast.png|a mast]]",
        '<p><img alt="a mast" src="../img/the%20mast.png" onerror="alert(1)"></p>',
    ],
)
def test_pictures_in_the_folder_are_named(text: str) -> None:
    shown = _html(text)
    assert '<span data-image="../img/the mast.png">a mast</span>' in shown
    assert "onerror" not in shown


def test_callouts_block_ids_and_tags_of_sites_are_shown_as_what_they_mean() -> None:
    shown = render("> [!warning] Hot\n> Hands off. ^hot\n", "notes", {})
    quote = '<blockquote data-callout="warning" data-first-line="1" data-last-line="2">'
    title = f'{quote}\n<p data-first-line="1" data-last-line="1">Warning: Hot</p>'
    text = '<p data-first-line="2" data-last-line="2">Hands off.</p>'
    assert title in shown
    assert text in shown.split(title)[1]
    assert "[!" not in shown
    assert "^hot" not in shown
    shown = render(
        '{{< term text="Pods" >}} and {% include x.html %}{{ "a < b" | x }}', "notes", {}
    )
    assert "Pods and a &lt; b" in shown
    shown = render('## {{% heading "whatsnext" %}}\n\n# Token _x_ {#token-1 .wide}\n', "notes", {})
    assert ">What&#x27;s next</h2>" in shown or ">What's next</h2>" in shown
    assert ">Token <em>x</em></h1>" in shown


def test_tasks_tables_and_strikes() -> None:
    shown = _html("- [x] done\n- [ ] open\n\n| a |\n|---|\n| b |\n\n~~gone~~\n")
    assert shown.count("<input") == 2
    assert "checked" in shown.split("open")[0]
    assert "<table" in shown
    assert "<s>gone</s>" in shown


_HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    '<a href="javascript:alert(1)">x</a>',
    '<a href=" &#106;avascript:alert(1)">x</a>',
    "<iframe src=https://example.org></iframe>",
    '<form action="https://example.org"><button>x</button></form>',
    '<p style="background:url(https://example.org)">x</p>',
    '<link rel=stylesheet href="https://example.org/x.css">',
    '<meta http-equiv=refresh content="0;url=https://example.org">',
    "<base href=https://example.org>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    '[[javascript:alert(1)|x]] [["><script>alert(1)</script>]]',
    '```"><script>alert(1)</script>\nx\n```',
    "<object data=x></object><embed src=x><video src=x autoplay></video>",
    '<div id="search" name="x" class="y" onclick="alert(1)">x</div>',
    "[x]: javascript:alert(1)\n\n[x]",
    '![x](x "onerror=alert(1)")',
]
_TAG = re.compile(r"<(/?)([a-zA-Z0-9]+)((?:\s+[a-z-]+=\"[^\"<>]*\")*)\s*/?>")
_FORBIDDEN = {
    "script", "style", "img", "svg", "math", "iframe", "object", "embed", "form", "button",
    "link", "meta", "base", "video", "audio", "template", "textarea", "select",
}  # fmt: skip


def _assert_harmless(shown: str) -> None:
    rest = _TAG.sub("", shown)
    assert "<" not in rest, shown
    for _, tag, attributes in _TAG.findall(shown):
        assert tag.lower() not in _FORBIDDEN, shown
        for name, value in re.findall(r'([a-z-]+)="([^"]*)"', attributes):
            assert not name.startswith("on"), shown
            assert name not in {"style", "id", "name", "src", "srcset"}, shown
            if name == "href":
                assert value.startswith(("?project=", "#", "http://", "https://", "mailto:")), shown


@pytest.mark.parametrize("text", _HOSTILE)
def test_nothing_in_a_document_can_run(text: str) -> None:
    _assert_harmless(_html(text))
    _assert_harmless(_html(f"# A\n\n- x {text} y\n\n> {text}\n"))


@given(st.lists(st.sampled_from([*_HOSTILE, "[[a]]", "`", "\n\n", "- ", "<", '"', "]]", "text"])))
def test_no_mixture_of_them_can(parts: list[str]) -> None:
    _assert_harmless(_html("".join(parts), a="a.md"))


# ── Documents that take too much work ────────────────────────────────────────

_HEAVY = {
    "open elements": "<div>" * 30_000,
    "open elements in paragraphs": "<div>\n\n" * 5_000,
    "unclosed formatting": "x " + "".join(f"<b a={n}>" for n in range(190)) + "\n\ny" * 20_000,
    "ends that a parser ignores": "<div><table><td></div></table>" * 2_000,
    "ends in comments": "<div><!--> <div> -->" * 2_000,
    "ends in attributes": '<div><i title="</div>"></i>' * 2_000,
    "attributes": "<div " + " ".join(f"a{n}" for n in range(20_000)) + ">",
    "attributes with signs": "<div " + " ".join(f'a{n}=">"' for n in range(8_000)) + ">",
}


@pytest.mark.parametrize("text", _HEAVY.values(), ids=_HEAVY.keys())
def test_a_document_that_is_too_much_work_is_shown_as_text(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def cleaned(_: str) -> str:
        pytest.fail("it reached the sanitiser, which takes quadratic time")

    monkeypatch.setattr("dowse._interfaces.http.render._cleaned", cleaned)
    shown = _html(text)
    assert "too much work" in shown
    assert html.escape(text[:200]) in shown
    assert 'data-first-line="1"' in shown


def test_a_document_of_much_plain_html_is_rendered() -> None:
    rows = '<tr><td align="left">a <b>b</b><br></td><td>&lt;</td></tr>\n' * 3_000
    shown = _html(f"<details>\n<table>\n{rows}</table>\n</details>\n\n<!-- a remark -->\n\nEnd.")
    assert "too much work" not in shown
    assert shown.count("<b>b</b>") == 3_000


def test_rendering_that_takes_too_long_ends() -> None:
    assert "too much work" in render("[a](" * 10, "notes", {}, seconds=-1.0)


def test_rendering_that_nobody_waits_for_ends() -> None:
    with until_given_up():
        context = contextvars.copy_context()
    with pytest.raises(GivenUp):
        context.run(_html, "# A heading")
