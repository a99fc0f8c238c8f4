"""Finds a project's source files from directory entries alone, with what had to be left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from dowse._index.source.options import ReadOptions
from dowse._index.source.roots import Root, readable
from dowse._index.source.scope import concerns, wanted_below
from dowse._index.source.tree import Tree
from dowse._model import LeftOut, SourceFile


class Walk(Struct, frozen=True):
    """What a walk over a project's roots found, each part in the order of its ids."""

    sources: tuple[SourceFile, ...]
    left_out: tuple[LeftOut, ...]
    linked: tuple[Path, ...] = ()  # real files and folders that only a link makes part of a root
    withheld: tuple[Path, ...] = ()  # files that wait for consent to a dowse.toml


def walk(roots: Sequence[Root], options: ReadOptions, within: Sequence[Path] = ()) -> Walk:
    """All sources of the roots; with `within`, only those at or below these paths.

    The rules of every folder above hold in either case. Only ignore files are opened.
    """
    names = frozenset(f"@{root.name}" for root in roots if root.name)
    trees = [Tree(root, options, frozenset() if root.name else names) for root in roots]
    for tree in trees:
        tree.gather(wanted_below(tree.root, within))
    left_out = [item for tree in trees for item in tree.found.left_out]
    left_out += [_outside(path) for path in within if not concerns(path, roots)]
    sources = _without_twins((item for tree in trees for item in tree.found.sources), left_out)
    left_out.sort(key=lambda item: (item.id, item.reason))
    linked = sorted({Path(path) for tree in trees for path in tree.linked})
    withheld = sorted(tree.root.path / below for tree in trees for below in tree.withheld)
    return Walk(tuple(sources), tuple(left_out), tuple(linked), tuple(withheld))


def _without_twins(found: Iterable[SourceFile], left_out: list[LeftOut]) -> list[SourceFile]:
    """Sorts by id; of files whose names differ only in how accents are encoded, one remains."""
    kept: list[SourceFile] = []
    for source in sorted(found, key=attrgetter("id")):
        if kept and kept[-1].id == source.id:
            left_out.append(LeftOut(source.id, _TWIN))
            kept[-1] = min(kept[-1], source, key=attrgetter("place"))
        else:
            kept.append(source)
    return kept


_TWIN = (
    "Its name looks the same as that of another file, they differ only in how "
    "characters are encoded; rename one of them."
)


def _outside(path: Path) -> LeftOut:
    return LeftOut(readable(os.fspath(path)), "It is outside the folders of the project.")
