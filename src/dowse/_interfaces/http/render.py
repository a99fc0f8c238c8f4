"""Documents as HTML that can do no harm: no script, no style, nothing from elsewhere.

Markdown is rendered with links and pictures that this server can show, the result is sanitised,
and a document that takes too much work is shown as it is written.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from dowse._index.markdown.frontmatter import read_frontmatter
from dowse._text.links import WIKILINK, is_media, leads_away, read_destination, read_wikilink
from dowse._text.markdown import (
    BLOCK_ID,
    CALLOUT,
    SHORTCODE,
    callout_name,
    shortcode_text,
    without_attributes,
)
from dowse._util.process import raise_if_cancelled

_OUTSIDE = frozenset({"http", "https", "mailto"})
_HARMLESS = nh3.ALLOWED_TAGS - {"area", "img", "map", "style"} | {"input", "mark"}
_ATTRIBUTES = {
    "*": {"data-first-line", "data-last-line"},
    "a": {"href", "title", "data-document", "data-anchor"},
    "blockquote": {"data-callout"},
    "code": {"class"},
    "details": {"open"},
    "input": {"type", "checked", "disabled"},
    "ol": {"start"},
    "span": {"data-image", "data-dangling"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align"},
}
_IMG = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_GIVEN = re.compile(r"""\b(src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\]\s")
_NO_CONTENT = {"script", "style", "iframe", "object", "template", "noscript", "svg", "math"}

Targets = Mapping[str, str | None]
"""Where links lead, by what they point at as written; None while they dangle."""


class _TooSlow(Exception):
    """Rendering has taken longer than it may."""


def render(
    text: str, project: str, targets: Targets, first_line: int = 1, seconds: float = 5.0
) -> str:
    """Render a text of Markdown as sanitised HTML, `first_line` being the number of its first line.

    A document that takes too much work is shown as text, with a note that says so.
    """
    body = read_frontmatter(text).body if first_line == 1 else 0
    above = first_line - 1 + text.count("\n", 0, body)
    context = {
        "project": project,
        "targets": targets,
        "above": above,
        "until": time.monotonic() + seconds,
    }
    try:
        rendered = _markdown().render(text[body:], context)
    except (_TooSlow, RecursionError):
        return _as_text(text[body:], above)
    return _as_text(text[body:], above) if _is_too_heavy(rendered) else _cleaned(rendered)


def _as_text(text: str, above: int) -> str:
    lines = f'data-first-line="{above + 1}" data-last-line="{above + text.count(chr(10)) + 1}"'
    note = "Rendering this document is too much work, so it is shown as plain text."
    return f"<p><em>{note}</em></p>\n<pre {lines}><code>{html.escape(text)}</code></pre>\n"


def _cleaned(rendered: str) -> str:
    return nh3.clean(
        rendered,
        tags=set(_HARMLESS),
        clean_content_tags=_NO_CONTENT,
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=_kept,
        url_schemes=set(_OUTSIDE),
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


def _kept(tag: str, name: str, value: str) -> str | None:
    """Return what stays of an attribute, for those that a document can write itself."""
    if (tag, name) == ("a", "href"):
        scheme = urlsplit(value).scheme if "//" in value or ":" in value else ""
        return value if value.startswith(("?project=", "#")) or scheme in _OUTSIDE else None
    if (tag, name) == ("code", "class"):
        return value if re.fullmatch(r"language-[\w+#.-]{1,40}", value) else None
    if (tag, name) == ("input", "type"):
        return "checkbox"
    return value


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer)
    markdown.enable(["table", "strikethrough"])
    markdown.inline.ruler.before("link", "wikilink", _wikilink)
    markdown.inline.ruler.before("link", "shortcode", _shortcode)
    markdown.core.ruler.after("inline", "signs", _show_signs)
    # Rules that only look at the clock: some documents take quadratic time.
    markdown.block.ruler.before("table", "clock", _look_at_the_clock)
    markdown.inline.ruler.before("text", "clock", _look_at_the_clock)
    return markdown


def _look_at_the_clock(state: StateInline | StateBlock, *_: object) -> bool:
    raise_if_cancelled()
    if time.monotonic() > state.env["until"]:
        raise _TooSlow
    return False


def _wikilink(state: StateInline, silent: bool) -> bool:
    match = WIKILINK.match(state.src, state.pos) if state.src[state.pos] in "[!" else None
    if match is None:
        return False
    if not silent:
        state.push("wikilink", "", 0).meta = {"link": read_wikilink(match)}
    state.pos = match.end()
    return True


def _shortcode(state: StateInline, silent: bool) -> bool:
    """Show a tag of a site generator as its site shows it."""
    is_tag = state.src.startswith(("{{", "{%"), state.pos)
    match = SHORTCODE.match(state.src, state.pos) if is_tag else None
    if match is None:
        return False
    if not silent:
        state.push("text", "", 0).content = shortcode_text(match)
    state.pos = match.end()
    return True


def _show_signs(state: StateCore) -> None:
    """Show a callout with its title and a task as a box; leave out the ids of blocks."""
    shown: list[Token] = []
    for token in state.tokens:
        shown.append(token)
        texts = token.children
        if token.type != "inline" or not texts:
            continue
        first, last = texts[0], texts[-1]
        if last.type == "text" and "^" in last.content:
            last.content = BLOCK_ID.sub("", last.content)
        if last.type == "text" and shown[-2].type == "heading_open":
            last.content = without_attributes(last.content)
        around = shown[-3] if len(shown) > 2 and first.type == "text" else token
        callout = CALLOUT.match(first.content) if around.type == "blockquote_open" else None
        task = _TASK.match(first.content) if around.type == "list_item_open" else None
        if callout:
            around.attrSet("data-callout", callout["kind"].lower())
            first.content = first.content[callout.end() :]
            kind = callout_name(callout)
            first.content = f"{kind}: {first.content}" if first.content else kind
            end = next((at for at, one in enumerate(texts) if one.type.endswith("break")), None)
            if end is not None:  # what follows the title is a paragraph of its own
                token.children, rest = texts[:end], texts[end + 1 :]
                first_line, after = shown[-2].map or (0, 0)
                shown[-2].map = [first_line, first_line + 1]
                shown += [
                    Token("paragraph_close", "p", -1, block=True),
                    Token("paragraph_open", "p", 1, block=True, map=[first_line + 1, after]),
                    Token("inline", "", 0, children=rest),
                ]
        if task:
            first.content = first.content[task.end() :]
            checked = "" if task[1] == " " else ' checked=""'
            box = f'<input type="checkbox" disabled=""{checked}> '
            texts.insert(0, Token("html_inline", "", 0, content=box))
    state.tokens = shown


class _Renderer(RendererHTML):
    """Renders links so that they open inside the page, and numbers the lines of blocks."""

    def renderToken(  # noqa: N802  the name is markdown-it's
        self, tokens: Sequence[Token], idx: int, options: Any, env: Any
    ) -> str:
        """Write any other token, with the lines that it came from."""
        token = tokens[idx]
        if token.map and token.nesting >= 0 and token.block:
            token.attrSet("data-first-line", str(env["above"] + token.map[0] + 1))
            token.attrSet("data-last-line", str(env["above"] + token.map[1]))
        return super().renderToken(tokens, idx, options, env)

    # Every rule takes the same four, whether it needs them or not.
    # ruff: noqa: ARG002
    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Write a block of code."""
        token = tokens[idx]
        name = html.escape(token.info.strip().split(maxsplit=1)[0]) if token.info.strip() else ""
        language = f' class="language-{name}"' if name else ""
        first, last = (env["above"] + line for line in token.map or (0, 1))
        lines = f'data-first-line="{first + 1}" data-last-line="{last}"'
        return f"<pre {lines}><code{language}>{html.escape(token.content)}</code></pre>\n"

    code_block = fence

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Write the start of a link."""
        address = str(tokens[idx].attrGet("href") or "")
        destination = read_destination(address)
        return _opening(*destination, env) if destination else f'<a href="{html.escape(address)}">'

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Write a picture: what it shows, in words, and where it is when that is in the folder."""
        source = str(tokens[idx].attrGet("src") or "")
        return _picture(tokens[idx].content or source, source)

    def html_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """HTML as it is written, with its pictures."""
        return _IMG.sub(_of_html, tokens[idx].content)

    html_block = html_inline

    def wikilink(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Write a link between double brackets."""
        link = tokens[idx].meta["link"]
        if leads_away(link):
            return f'<a href="{html.escape(link.target)}">{html.escape(link.shown)}</a>'
        if link.kind == "embed" and link.target not in env["targets"]:
            return _picture(link.shown, quote(link.target))
        if link.target and env["targets"].get(link.target) is None:
            return f'<span data-dangling="">{html.escape(link.shown)}</span>'
        return f"{_opening(link.target, link.anchor, env)}{html.escape(link.shown)}</a>"


def _opening(target: str, anchor: str, env: Any) -> str:
    document = env["targets"].get(target) if target else ""
    if document is None:
        return "<a>"
    place = f' data-anchor="{html.escape(anchor)}"' if anchor else ""
    if not document:
        return f'<a href="#"{place}>'
    address = f"?project={quote(env['project'])}&document={quote(document)}"
    return f'<a href="{html.escape(address)}" data-document="{html.escape(document)}"{place}>'


def _picture(shown: str, source: str) -> str:
    """Write a picture in words, with its path in the folder; empty for one that is elsewhere."""
    path = ""
    with suppress(ValueError):  # brackets that are no address
        address = urlsplit(source)
        path = "" if address.scheme or address.netloc else unquote(address.path)
    local = html.escape(path) if is_media(path) else ""
    return f'<span data-image="{local}">{html.escape(shown)}</span>'


def _of_html(match: re.Match[str]) -> str:
    """Write a picture that is written as HTML."""
    given = {one[1].lower(): one[2] or one[3] or one[4] or "" for one in _GIVEN.finditer(match[0])}
    source = html.unescape(given.get("src", ""))
    return _picture(html.unescape(given.get("alt", "")) or source, source)


# ── How much work HTML is for a sanitiser ────────────────────────────────────

# A parser of HTML looks through all open elements at every tag, and repeats unclosed <b> and the
# like in every paragraph. So the number of open elements times the number of tags is what counts.
# It is measured in linear time.
_DEEPEST = 200  # open elements; browsers stop at 512
_MOST_WORK = 4_000_000  # open elements times tags: about a second
_LONGEST_TAG = 10_000  # characters; each attribute is compared with all others of its tag
_LONGEST_ODD = 50_000  # characters of a text whose tags cannot be read with certainty

# Tags and comments that every parser reads in the same way; any other < is odd, and so is a tag of
# more attributes.
_TAG_COMMENT_OR_ODD = re.compile(
    r"""
      < (?P<end>/?) (?P<name>[a-zA-Z][a-zA-Z0-9-]*+)
        (?>
          (?: \s++ [^\s"'<>/=]++ (?: = (?: "[^"<>]*+" | '[^'<>]*+' | [^\s"'<>=`]++ ) )? ){0,5000}
        )
        (?: \s*+ /? > | (?P<more>\s) )
    | <!-- (?!-?>) (?> .*? -- ) >
    | (?P<odd><)
    """,
    re.VERBOSE | re.DOTALL,
)
# Elements that hold nothing, or end where the next of their kind begins.
_NEVER_NESTED = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"}
    | {"source", "track", "wbr", "dd", "dt", "li", "option", "p"}
    | {"tbody", "td", "tfoot", "th", "thead", "tr"}
)


def _is_too_heavy(html: str) -> bool:
    """Say whether cleaning this HTML could take longer than a moment."""
    open_elements: list[str] = []
    deepest = begun = 0
    is_odd = False
    for match in _TAG_COMMENT_OR_ODD.finditer(html):
        is_odd = is_odd or match["odd"] is not None or match["more"] is not None
        name = (match["name"] or "").lower()
        if not name or name in _NEVER_NESTED:
            continue
        if match.end() - match.start() > _LONGEST_TAG:
            return True
        if match["more"]:
            continue
        if not match["end"]:
            begun += 1
            open_elements.append(name)
            deepest = max(deepest, len(open_elements))
        # Only the innermost element is closed: a parser ignores some of the other ends.
        elif open_elements and open_elements[-1] == name:
            open_elements.pop()
    deepest = begun if is_odd else deepest
    return (
        deepest > _DEEPEST
        or deepest * html.count("<") > _MOST_WORK
        or (is_odd and len(html) > _LONGEST_ODD)
    )
