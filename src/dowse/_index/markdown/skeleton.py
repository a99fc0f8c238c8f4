"""What the grammars are given to read: the text with everything masked that cannot matter to them.

A skeleton has exactly one byte per character, so that the grammars' byte offsets are character
offsets and nothing has to be converted back. Words that no rule of the grammar looks at are joined
into one long word, which a grammar passes over several times faster than over the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dowse._util.arrays import np

_MASK = b"x" * 4096
# Entities mean nothing to what is looked for, and the grammars stumble over them in brackets.
_HARMLESS = bytes.maketrans(b"\0\r&", b"x x")


def one_byte_per_character(text: str) -> bytes:
    """Keep ASCII; any other character becomes a letter, which is how the grammars treat it."""
    if text.isascii():
        return text.encode("ascii").translate(_HARMLESS)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    masked = np.where(points < 128, points, ord("x")).astype(np.uint8)
    return masked.tobytes().translate(_HARMLESS)


# ── For the block grammar ────────────────────────────────────────────────────

# Kept as they are: lines that may open a fence, the tag that may open an HTML block (the whole
# line where its quotes could matter), and names of tags, because `</script>` may close one.
_KEPT_BY_BLOCKS = rb"""
    (?P<kept>
        ^ [^A-Za-z\n<`~]* (?: ``` | ~~~ ) [^\n]*
      | ^ [^A-Za-z\n<]* < (?: [^>"'\n]* > | [^\n]* )
      | < /? [A-Za-z0-9]+
    )
"""
# Between two letters of one line none of these can start, end or change a block.
_PROSE = rb"""(?<=[A-Za-z]) [A-Za-z0-9\ .,;:!?'"()\[\]{}*_~`$@%^+=/\#-]+ (?=[A-Za-z])"""
# Where the text may hold link definitions, spaces and quotes decide what is one.
_PROSE_NEAR_DEFINITIONS = rb"(?<=[A-Za-z]) [A-Za-z0-9.,%+=/_-]+ (?=[A-Za-z])"

# A letter keeps what follows from opening a block just as a backslash does; only in tables is there
# a difference. The block grammar stumbles over backslashes in brackets.
_ESCAPE = re.compile(rb"\\(?!\|)")

_BLOCKS = re.compile(_KEPT_BY_BLOCKS + b"|" + _PROSE, re.MULTILINE | re.VERBOSE)
_BLOCKS_NEAR_DEFINITIONS = re.compile(
    _KEPT_BY_BLOCKS + b"|" + _PROSE_NEAR_DEFINITIONS, re.MULTILINE | re.VERBOSE
)


# The block grammar carries every open quote and list item along with every token, and gives up
# near 250 of them. Nobody means a tenth of that: a line with this many marks in front is only text.
MOST_NESTED = 64
_MARK = r"[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])"
_TOO_DEEP = rf"^(?:{_MARK}){{{MOST_NESTED},}}+(?![-* \t]*$)"
NESTED_TOO_DEEP = re.compile(_TOO_DEEP, re.MULTILINE)
_NESTED_TOO_DEEP = re.compile(_TOO_DEEP.encode(), re.MULTILINE)


def block_skeleton(text: str, flatten: bool = False) -> bytes:
    """Return the text for the block grammar; it ends with a line feed, or no fence would close.

    `flatten` masks the marks in front of lines that are nested too deep.
    """
    source = _ESCAPE.sub(b"x", one_byte_per_character(text))
    if flatten:
        source = _NESTED_TOO_DEEP.sub(_mask, source)
    pattern = _BLOCKS_NEAR_DEFINITIONS if b"]:" in source else _BLOCKS
    return pattern.sub(_mask_unless_kept, source) + b"\n"


def _mask_unless_kept(match: re.Match[bytes]) -> bytes:
    return match[0] if match.lastgroup else _mask(match)


def _mask(match: re.Match[bytes]) -> bytes:
    start, end = match.span()
    return _MASK[: end - start] if end - start <= len(_MASK) else b"x" * (end - start)


# ── For the inline grammar ───────────────────────────────────────────────────

_NO_EMPHASIS = bytes.maketrans(b"*_~$", b"xxxx")
_INLINE = re.compile(
    rb"""
      \]\( (?P<address> [^\s()<>"'\\]* ) \)
    | (?P<kept> \\` | < [^>]* > | \]\( [^)]* \) )
    | (?: [^\\<>\[\]()`!] | ! (?!\[) | \\ [^`] )+
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = re.compile(rb"(?<!\\) \[ ([^\[\]]*) \] (?! [\[(] )", re.VERBOSE)
_NESTED_BRACKETS = 3


def inline_skeleton(text: str, is_label: Callable[[str], bool]) -> bytes:
    """Return the text as the inline grammar needs it to tell links and code from the rest."""
    source = one_byte_per_character(text).translate(_NO_EMPHASIS)
    source = _mask_unclosed(source, b"<", b"x", b">")
    source = _mask_unclosed(source, b"](", b"]x", b")")
    return mask_brackets(_INLINE.sub(_mask_inline, source), text, is_label)


def _mask_unclosed(source: bytes, opening: bytes, mask: bytes, closing: bytes) -> bytes:
    """Mask what is never closed: it opens nothing, but the grammar would try again and again."""
    last = source.rfind(closing) + 1
    return source[:last] + source[last:].replace(opening, mask)


def _mask_inline(match: re.Match[bytes]) -> bytes:
    if match.lastgroup == "address":
        return b"](" + b"x" * len(match["address"]) + b")"
    return _mask_unless_kept(match)


def mask_brackets(skeleton: bytes, text: str, is_label: Callable[[str], bool]) -> bytes:
    """Mask brackets that hold no label of a link definition.

    The inline grammar takes every pair for a link, and would not see that `[a [b] c](d)` is one.
    """

    def mask_unless_label(match: re.Match[bytes]) -> bytes:
        label = text[match.start(1) : match.end(1)]
        return match[0] if is_label(label) else _mask(match)

    for _ in range(_NESTED_BRACKETS):
        skeleton, found = _BRACKETS.subn(mask_unless_label, skeleton)
        if not found:
            break
    return skeleton
