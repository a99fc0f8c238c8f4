"""Links: how they are written, and where they lead."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from dowse._model import Link
from dowse._text.file_names import INDEX_PAGES, TEXT_ENDINGS, without_ending
from dowse._text.matching import fold
from dowse._text.scripts import late_pattern

# ── Wikilinks: `[[Target#Heading|label]]` and its relatives ─────────────────────
# The order is Obsidian's: target first. Dendron writes the label first, which looks like a plain
# Obsidian link; such a link keeps the note's name as its label, where the store can still find it
# when it resolves links. Only where Dendron spells out `dendron://vault/note` is the order certain,
# and there the parts are put right.

WikilinkKind = Literal["wikilink", "embed"]
"""An embed shows its target in place: `![[Target]]`."""

WIKILINK = re.compile(r"(?<!\\)(!?)\[\[([^\[\]\n]+)\]\]")
_PIPE = re.compile(r"\\?\|")  # in a table the pipe has to be escaped
_DENDRON = re.compile(r"dendron://[^/]*/")
_SIZE = re.compile(r"\d{1,5}(?:x\d{1,5})?")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class Wikilink(Struct, frozen=True):
    """The parts of a wikilink, trimmed; `target` is empty for a place in the same document."""

    kind: WikilinkKind
    target: str
    anchor: str
    label: str

    @property
    def shown(self) -> str:
        """What a reader sees of it; the label of an embed may be the size of a picture."""
        size = self.kind == "embed" and _SIZE.fullmatch(self.label)
        return ("" if size else self.label) or self.target or self.anchor.lstrip("^")


def read_wikilink(match: re.Match[str]) -> Wikilink:
    """Return the parts of what `WIKILINK` matched."""
    target, _, label = map(str.strip, _PIPE.sub("|", match[2], count=1).partition("|"))
    if _DENDRON.match(label):
        target, label = label, target
    path, _, anchor = _DENDRON.sub("", target).partition("#")
    kind: WikilinkKind = "embed" if match[1] else "wikilink"
    return Wikilink(kind, path.strip(), anchor.strip(), label)


def leads_away(link: Wikilink) -> bool:
    """Return whether the target is an address on the web rather than a document."""
    return _URL.match(link.target) is not None


def names_document(link: Wikilink) -> bool:
    """Return whether the target is another document rather than a picture or an address."""
    return bool(link.target) and not leads_away(link) and not is_media(link.target)


# ── Markdown links: the address → the document that it names ────────────────────

# What only shows or sounds is never a document, however it is linked.
_MEDIA = late_pattern(
    r".*\.(?:apng|avif|bmp|gif|heic|ico|jpe?g|png|svg|tiff?|webp"
    r"|3gp|aac|avi|flac|m4[av]|mkv|mov|mp[34]|og[agv]|opus|wav|webm)",
    re.IGNORECASE | re.DOTALL,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def is_media(target: str) -> bool:
    """Return whether a target is a picture, a sound or a film, by its ending."""
    return _MEDIA.fullmatch(target) is not None


def read_destination(written: str) -> tuple[str, str] | None:
    """Return target and anchor of a link to a document; None for any other address."""
    address = written.strip()
    if address.startswith("<") and address.endswith(">"):
        address = address[1:-1].strip()
    if address.startswith(("#", "//")) or _SCHEME.match(address):
        return None
    path, _, anchor = html.unescape(_ESCAPE.sub(r"\1", address)).partition("#")
    target = unquote(path.partition("?")[0]).strip()
    is_document = target and "\n" not in target and not is_media(target)
    return (target, unquote(anchor)) if is_document else None


# ── Where a link leads ──────────────────────────────────────────────────────────
# By path, then by file name, then by alias; the nearest document wins. Every way of meeting a
# document goes through a short name (a file name, the folder of an index page, an alias), so that a
# store can look up by that name which links a change may touch.

NameKind = Literal["file", "folder", "alias"]


class LinkName(Struct, frozen=True):
    """One way in which links can call a document."""

    document: str  # id
    name: str  # folded, for looking up
    kind: NameKind
    spelled: str  # folded: the whole alias, or the path that leads here without its ending


def names_of(document_id: str, aliases: Iterable[str]) -> list[LinkName]:
    """Return all the ways in which links can call a document."""
    path = fold(without_ending(document_id))
    folder, stem = posixpath.split(path)
    names = [LinkName(document_id, stem, "file", path)]
    if stem in INDEX_PAGES:
        short = posixpath.basename(folder) or "."
        names.append(LinkName(document_id, short, "folder", folder or "."))
    for alias in dict.fromkeys(fold(alias.strip()) for alias in aliases if alias.strip()):
        short = posixpath.basename(_join("", without_ending(alias).lstrip("/")))
        names.append(LinkName(document_id, short, "alias", alias))
    return names


def names_of_target(source: str, link: Link) -> list[str]:
    """Return the short names under which the target of a link is looked up."""
    return list(dict.fromkeys(_looked_up(source, reading) for reading in _readings(link)))


def choose(source: str, link: Link, named: Sequence[LinkName]) -> str | None:
    """Return the document that a link leads to, among those that bear a name it looks up."""
    if not link.target.strip():
        return source  # only an anchor: a place in the document itself
    for reading in _readings(link):
        wanted = _looked_up(source, reading)
        groups = _matches(source, reading, [one for one in named if one.name == wanted])
        if group := next(filter(None, groups), None):
            return min((name.document for name in group), key=partial(_nearness, source))
    return None


def _readings(link: Link) -> list[Link]:
    """Return what a link can mean: as Obsidian writes it, then label first, as Dendron does."""
    label = link.label.partition("#")[0].strip()
    swaps = link.kind in {"wikilink", "embed"} and label
    return [link, replace(link, target=label, label=link.target)] if swaps else [link]


def _looked_up(source: str, link: Link) -> str:
    name = fold(without_ending(link.target.strip())).rstrip("/").rpartition("/")[2]
    if name not in ("", ".", ".."):
        return name  # of every path that the target can mean
    return posixpath.basename(_paths(source, link)[0])


def _matches(source: str, link: Link, named: Sequence[LinkName]) -> Iterable[list[LinkName]]:
    pages = [name for name in named if name.kind != "alias"]
    for path in _paths(source, link):
        yield [name for name in pages if name.spelled == path]
    bare = fold(without_ending(link.target.strip().strip("/")))
    if link.kind != "relative" or link.target.startswith("/"):
        # A path may be given from any folder above, as Obsidian and site generators do.
        yield [name for name in pages if f"/{name.spelled}".endswith(f"/{bare}")]
    if link.kind != "relative":
        alias = ("alias", fold(link.target.strip()))
        yield [name for name in named if (name.kind, name.spelled) == alias]


def _paths(source: str, link: Link) -> list[str]:
    """Return the paths that a target can mean, best first: next to the source, then from the root.

    A site's address may begin with folders that are not in the project: `/docs/a/b` means `a/b`
    where the project is the folder `docs`.
    """
    target = fold(without_ending(link.target.strip()))
    root = fold(_root(source))
    if target.startswith("/"):
        parts = _join("", target.strip("/")).split("/")
        return [_join(root, "/".join(parts[start:])) for start in range(len(parts))]
    beside = _join(fold(posixpath.dirname(source)), target)
    return [beside] if link.kind == "relative" else [beside, _join(root, target)]


def _nearness(source: str, document_id: str) -> tuple[bool, int, int, int, str]:
    abroad = _root(source) != _root(document_id)
    here, there = source.split("/")[:-1], document_id.split("/")[:-1]
    shared = len(posixpath.commonprefix([here, there]))  # works on lists of parts as well
    steps = len(here) + len(there) - 2 * shared
    ending = posixpath.splitext(document_id)[1].lower()
    rank = [*TEXT_ENDINGS, ending].index(ending)
    return abroad, steps, rank, len(document_id), document_id


def _root(document_id: str) -> str:
    return document_id.split("/", 1)[0] if document_id.startswith("@") else ""


def _join(folder: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(folder, target.rstrip("/")) or ".")
