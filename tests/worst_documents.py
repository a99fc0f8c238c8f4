"""The worst documents known: each filled memory or disk, took very long, or came close to it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

_WORDS = [
    "gateway",
    "station",
    "sensor",
    "radio",
    "battery",
    "antenna",
    "rain",
    "wind",
    "frame",
    "decode",
    "upload",
    "store",
]

Maker = Callable[[int], str]
"""Makes a document of about so many characters."""


def prose(size: int, seed: int = 1) -> str:
    """Sentences and paragraphs, as people write them."""
    rng = random.Random(seed)
    parts, length = [], 0
    while length < size:
        words = " ".join(rng.choice(_WORDS) for _ in range(rng.randrange(5, 15)))
        parts.append(f"{words} {rng.randrange(5000)}.{rng.choice([' ', ' ', ' ', chr(10) * 2])}")
        length += len(parts[-1])
    return "".join(parts)[:size]


def _repeated(unit: str) -> Maker:
    return lambda size: unit * (size // len(unit.encode()))


def _numbered(unit: str) -> Maker:
    def make(size: int) -> str:
        return "".join(unit.format(number) for number in range(size // len(unit.format(99_999))))

    return make


def _between(before: str, unit: str, after: str) -> Maker:
    return lambda size: before + _repeated(unit)(size) + after


def _han(size: int, line: int = 40) -> str:
    rng = random.Random(1)
    characters = (chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(size // 3))
    return "".join(c + ("。\n" if n % line == line - 1 else "") for n, c in enumerate(characters))


def _letters(signs: str) -> Maker:
    rng = random.Random(1)
    return lambda size: "".join(rng.choices(signs, k=size))


def _front(field: str, entries: Iterable[str], most: int = 60_000) -> Maker:
    written = ", ".join(entries)[:most]
    return lambda size: f"---\n{field}: [{written}]\n---\n{prose(size)}"


def _bomb(_: int) -> str:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20))
    return f"---\na0: &a0 [x, x]\n{levels}tags: *a19\naliases: *a19\n---\ntext\n"


def _tags(size: int) -> str:
    deep = ("/".join(f"a{n}b{level}" for level in range(10)) for n in range(size // 60))
    return " ".join(f"#{name}" for name in deep)


NAMED: dict[str, tuple[Maker, int]] = {
    "one heading": (_between("# ", "word ", "\n\ntext\n"), 9_000_000),
    "a heading over text": (lambda n: f"# {'word ' * (n // 10)}\n\n{prose(n // 2)}", 2_000_000),
    "a tag of many levels": (_between("#", "a/", "a\n"), 40_000),
    "a key of many parts": (_between("+++\n", "a.", "a = 1\n+++\ntext\n"), 64_000),
    "empty lines": (_repeated("\n"), 9_900_000),
    "blanks in a heading": (_between("# a", " ", "b\n"), 60_000),
    "underlined headings": (_repeated("a\n=\n"), 100_000),
    "blanks in a name": (_between("---\nauthor: a", " ", "b\n---\ntext\n"), 60_000),
    "fences": (_repeated("```py\na\n```\n"), 8_400_000),
}
"""Those of the report that led to the limits, with their size in bytes."""

WORST: dict[str, Maker] = {
    "prose": prose,
    "prose with one wide character": lambda size: f"🎉 {prose(size)}",
    "paragraphs": _repeated("a\n\n"),
    "lines": _repeated("a\n"),
    "one line of words": _repeated("word "),
    "one word": _repeated("a"),
    "one line of signs": _letters("abcXYZ012_-./:"),
    "control characters": _repeated("\x01\x1f\x7f "),
    "distinct words": _numbered("w{:x} "),
    "distinct short words": lambda size: " ".join(
        f"{n:x}g" for n in range(70_000, 70_000 + size // 7)
    ),
    "Chinese": _han,
    "Chinese on one line": lambda size: _han(size, size),
    "emoji": _repeated("🎉"),
    "combining marks": _between("a", "\u0301", ""),
    "identifiers": lambda size: f"```py\n{'a_b.' * (size // 4)}\n```\n",
    "capitals in words": lambda size: " ".join(["aB" * 30] * (size // 61)),
    "sentences": _repeated("A. "),
    "full stops": _repeated(". "),
    "headings": _numbered("# h{}\n"),
    "nested headings": lambda size: "".join(
        f"{'#' * (1 + n % 6)} {'x' * 150} {n}\n\ntext\n\n" for n in range(size // 170)
    ),
    "list items": _repeated("- a\n"),
    "nested items": lambda size: "".join("  " * (n % 50) + "- a\n" for n in range(size // 54)),
    "numbered items": _numbered("{}. a\n\n"),
    "quotes": _repeated(">" * 60 + " a\n"),
    "quote marks": _repeated(">"),
    "a long table": _between("|a|b|\n|-|-|\n", "|1|2|\n", ""),
    "a wide table": lambda size: "".join(f"{unit * (size // 6)}|\n" for unit in ("|a", "|-", "|1")),
    "tables": _repeated("|a|\n|-|\n|b|\n\n"),
    "rules": _repeated("---\n"),
    "indented code": _repeated("    a\n\n"),
    "open fences": _repeated("```\n"),
    "languages": _numbered("```l{}\na\n```\n"),
    "one long fence": _between("```py\n", "x = foo_bar(1)\n", "```\n"),
    "a long info string": _between("```", "x", "\ncode\n```\n"),
    "HTML": _repeated("<div>\n"),
    "HTML in a line": _repeated("<a>"),
    "comments": _repeated("<!-- "),
    "comment marks": _repeated("%%"),
    "brackets": _repeated("["),
    "backticks": _repeated("` `` "),
    "backslashes": _repeated("\\"),
    "stars": _repeated("*"),
    "wikilinks": _numbered("[[t{}]]\n"),
    "wikilinks on one line": _repeated("[[a]]"),
    "links": _numbered("[a](b{}.md)\n\n"),
    "paths with many folders": _repeated(f"[[/{'a/' * 400}]]\n"),
    "one long wikilink": _between("[[", "a", "]]\n"),
    "one long link": _between("[a](", "a", ")\n"),
    "one definition, much used": lambda size: f"[l]: {'x' * 900}.md\n\n{'[l] ' * (size // 4)}\n",
    "definitions": _numbered("[l{0}]: t{0}.md\n"),
    "footnotes": _numbered("[^{}]: x\n"),
    "tags": _numbered("#t{} "),
    "tags in paragraphs": _numbered("#t{}\n\n"),
    "nested tags": _tags,
    "a long tag": _between("#", "t", ""),
    "aliases": _front("aliases", (f"alias {n}" for n in range(8000))),
    "keywords": _front("keywords", (f"k{n}" for n in range(9000))),
    "related": _front("related", (f"a{n}" for n in range(9000))),
    "a long description": lambda size: f"---\ndescription: {'ab ' * 20_000}\n---\n{prose(size)}",
    "a long title": lambda size: f"---\ntitle: {'ab ' * 20_000}\n---\n{prose(size)}",
    "YAML aliases": _bomb,
    "YAML keys": lambda _: "---\n" + "".join(f"k{n}: v\n" for n in range(7000)) + "---\ntext\n",
    "broken YAML": lambda _: "---\n" + "".join(f"k{n}: [\n" for n in range(7000)) + "---\ntext\n",
    "YAML lists in lists": lambda _: f"---\na:\n {'- ' * 30_000}x\n---\ntext\n",
    "a long frontmatter": _between("---\n", "key: value\n", "---\ntext\n"),
}
"""All others."""
