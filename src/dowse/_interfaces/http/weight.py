"""How much work the HTML of a document is for a sanitiser, found out in linear time.

A parser of HTML looks through all open elements at every tag, and repeats unclosed `<b>` and the
like in every paragraph. So the number of open elements times the number of tags is what counts.
"""

from __future__ import annotations

import re

_DEEPEST = 200  # open elements; browsers stop at 512
_MOST_WORK = 4_000_000  # open elements times tags: about a second
_LONGEST_TAG = 10_000  # characters; each attribute is compared with all others of its tag
_LONGEST_ODD = 50_000  # characters of a text whose tags cannot be read with certainty

# Tags and comments that every parser reads in the same way; any other < is odd.
_TAG_COMMENT_OR_ODD = re.compile(
    r"""
      < (?P<end>/?) (?P<name>[a-zA-Z][a-zA-Z0-9-]*+)
        (?: \s++ [^\s"'<>/=]++ (?: = (?: "[^"<>]*+" | '[^'<>]*+' | [^\s"'<>=`]++ ) )? )*+
        \s*+ /? >
    | <!-- (?!-?>) (?:[^-]|-(?!-))*+ -->
    | (?P<odd><)
    """,
    re.VERBOSE,
)
# Elements that hold nothing, or end where the next of their kind begins.
_NEVER_NESTED = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"}
    | {"source", "track", "wbr", "dd", "dt", "li", "option", "p"}
    | {"tbody", "td", "tfoot", "th", "thead", "tr"}
)


def is_too_heavy(html: str) -> bool:
    """Whether cleaning this HTML could take longer than a moment."""
    deepest, longest, is_odd = _measure(html)
    if longest > _LONGEST_TAG or (is_odd and len(html) > _LONGEST_ODD):
        return True
    return deepest > _DEEPEST or deepest * html.count("<") > _MOST_WORK


def _measure(html: str) -> tuple[int, int, bool]:
    """The most elements that can be open at once, the longest tag, and whether any < is odd."""
    open_elements: list[str] = []
    deepest = begun = longest = 0
    is_odd = False
    for match in _TAG_COMMENT_OR_ODD.finditer(html):
        is_odd = is_odd or match["odd"] is not None
        name = (match["name"] or "").lower()
        if not name or name in _NEVER_NESTED:
            continue
        longest = max(longest, match.end() - match.start())
        if not match["end"]:
            begun += 1
            open_elements.append(name)
            deepest = max(deepest, len(open_elements))
        # Only the innermost element is closed: a parser ignores some of the other ends.
        elif open_elements and open_elements[-1] == name:
            open_elements.pop()
    return (begun if is_odd else deepest), longest, is_odd
