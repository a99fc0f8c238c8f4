"""What an index has, as lists with counts, and what belongs to a document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from dowse._model import DocumentEntry, Edge, Neighbour, Related
from dowse._model.ports import IndexReader
from dowse._search.strategies import one_per_document
from dowse._text.matching import fold
from dowse._util.arrays import np

Sort = Literal["path", "modified", "links"]
"""The order of documents: by path, newest first, or most linked first."""

SORTS: tuple[Sort, ...] = ("path", "modified", "links")

Filter = Literal["tag", "path", "category", "author", "source"]
"""The filters of a search whose values can be listed."""

FILTERS: tuple[Filter, ...] = ("tag", "path", "category", "author", "source")

Item = TypeVar("Item")


class ListedDocument(Struct, frozen=True):
    """A document of a list."""

    entry: DocumentEntry
    links_in: int  # how many other documents link to it
    project: str = ""  # name of its project


class Counted(Struct, frozen=True):
    """A value that documents have, such as a tag or a folder."""

    name: str  # as most documents write it; a folder ends with "/"
    documents: int  # that have it


class FieldValues(Struct, frozen=True):
    """A field of the frontmatter, and the values that documents give it."""

    name: str
    documents: int  # that have the field
    values: tuple[Counted, ...]  # most frequent first


def list_documents(
    reading: IndexReader,
    sort: Sort = "path",
    since: float | None = None,
    below: Sequence[str] = (),
    project: str = "",
) -> list[ListedDocument]:
    """List documents below some paths that changed at or after `since`, in seconds since 1970."""
    # Two links of a document to the same one count once, and a link to itself does not count.
    pairs = {(edge.source, edge.target) for edge in reading.links.all()}
    links_in = Counter(target for source, target in pairs if target != source)
    return in_order(
        (
            ListedDocument(entry, links_in[entry.id], project)
            for entry in _below(reading.catalogue.documents(), below)
            if since is None or entry.modified >= since
        ),
        sort,
    )


def in_order(listed: Iterable[ListedDocument], sort: Sort) -> list[ListedDocument]:
    """Sort documents, also of several projects."""
    return sorted(listed, key=lambda one: (*_ORDERS[sort](one), one.entry.id, one.project))


_ORDERS: Mapping[Sort, Callable[[ListedDocument], tuple[float, ...]]] = {
    "path": lambda _: (),
    "modified": lambda one: (-one.entry.modified,),
    "links": lambda one: (-one.links_in,),
}


def list_values(
    entries: Iterable[DocumentEntry], name: Filter, below: Sequence[str] = ()
) -> list[Counted]:
    """Return the values of a filter, most frequent first; folders are ordered by their path.

    A document with the tag `a/b` has the tag `a` too, and a document in `a/b/` is also in `a/`.
    """
    entries = _below(entries, below)
    if name == "path":
        folders = Counter(one for entry in entries for one in folders_of(entry))
        return [Counted(one, count) for one, count in sorted(folders.items())]
    return _counted(VALUES[name](entry) for entry in entries)


def list_fields(entries: Iterable[DocumentEntry], below: Sequence[str] = ()) -> list[FieldValues]:
    """Return the fields of the frontmatter with their values, most frequent first."""
    given: defaultdict[str, list[Sequence[str]]] = defaultdict(list)
    spelled: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for entry in _below(entries, below):
        for name, values in entry.fields.properties:
            given[fold(name)].append(values)
            spelled[fold(name)][name] += 1
    fields = (
        FieldValues(spelled[name].most_common(1)[0][0], len(rows), tuple(_counted(rows)))
        for name, rows in given.items()
    )
    return sorted(fields, key=lambda one: (-one.documents, one.name))


def page_of(items: Sequence[Item], limit: int | None, offset: int = 0) -> Sequence[Item]:
    """Return a part of a list: at most `limit` items, after the first `offset`."""
    return items[offset : None if limit is None else offset + limit]


def tags_of(entry: DocumentEntry) -> Iterator[str]:
    """Return each tag of a document, and the tags that it is below."""
    for tag in entry.fields.tags:
        yield tag
        yield from (tag[:place] for place, sign in enumerate(tag) if sign == "/")


def folders_of(entry: DocumentEntry) -> Iterator[str]:
    """Return the folders that a document is in, from the outermost, each ending with "/"."""
    yield from (entry.id[: place + 1] for place, sign in enumerate(entry.id) if sign == "/")


def _ending(entry: DocumentEntry) -> Iterator[str]:
    _, dot, ending = entry.id.rpartition("/")[2].rpartition(".")
    yield from (ending,) if dot else ()


VALUES: Mapping[Filter, Callable[[DocumentEntry], Iterable[str]]] = {
    "tag": tags_of,
    "path": folders_of,
    "category": lambda entry: (entry.fields.category,),
    "author": lambda entry: entry.fields.author,
    "source": _ending,
}
"""By filter: the values that a document has."""


def _counted(values_of_each: Iterable[Iterable[str]]) -> list[Counted]:
    """Tell how many documents have each value; values that differ in case alone are one."""
    spelled: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for values in values_of_each:
        for folded, value in {fold(value): value for value in values if value}.items():
            spelled[folded][value] += 1
    found = [Counted(ways.most_common(1)[0][0], ways.total()) for ways in spelled.values()]
    return sorted(found, key=lambda one: (-one.documents, one.name))


def _below(entries: Iterable[DocumentEntry], paths: Sequence[str]) -> list[DocumentEntry]:
    """List the documents whose path begins with one of these; case does not matter."""
    starts = tuple(fold(path.removeprefix("./")) for path in paths)
    return [entry for entry in entries if not starts or fold(entry.id).startswith(starts)]


# ── What belongs to a document ──────────────────────────────────────────────────


class LinkGraph(Struct, frozen=True):
    """All documents and the links between them."""

    documents: tuple[DocumentEntry, ...]
    communities: dict[str, int]  # by document; those without links have none
    edges: tuple[Edge, ...]  # also those that lead nowhere yet


def find_related(reading: IndexReader, document_id: str, limit: int) -> Related:
    """Find what belongs to a document, at most `limit` for each reason."""
    entries = {entry.id: entry for entry in reading.catalogue.documents()}
    edges = reading.links.of([document_id])
    linked = _distinct(edge.target for edge in edges if edge.source == document_id)
    linking = _distinct(edge.source for edge in edges if edge.target == document_id)
    communities = reading.links.communities()
    group = communities.get(document_id)
    near = {*linked, *linking, document_id}
    together = sorted(
        name for name, one in communities.items() if one == group and name not in near
    )

    def named(names: Iterable[str]) -> tuple[Neighbour, ...]:
        kept = [name for name in names if name != document_id][:limit]
        return tuple(Neighbour(id=name, title=entries[name].fields.title) for name in kept)

    dangling = _distinct(edge.link.target for edge in edges if edge.target is None)
    return Related(
        document=document_id,
        title=entries[document_id].fields.title,
        linked=named(linked),
        linking=named(linking),
        community=named(together if group is not None else []),
        similar=_similar(reading, document_id, entries, limit),
        dangling=tuple(dangling[:limit]),
    )


def _similar(
    reading: IndexReader, document_id: str, entries: dict[str, DocumentEntry], limit: int
) -> tuple[Neighbour, ...]:
    own = reading.catalogue.keys_of([document_id]).tolist()
    vectors = reading.vectors.of(own)
    if not vectors:
        return ()
    middle = np.mean([vectors[key] for key in sorted(vectors)], axis=0)
    length = float(np.linalg.norm(middle))
    if length == 0:
        return ()
    # Its own chunks come first, and a document may have many.
    found = reading.vectors.nearest((middle / length).astype(np.float32), len(own) + 20 * limit)
    others = [(key, score) for key, score in found if key not in vectors]
    scores = dict(one_per_document(reading, others, limit))
    return tuple(
        Neighbour(
            id=one.document.id,
            title=entries[one.document.id].fields.title,
            score=scores[one.key],
        )
        for one in reading.catalogue.chunks(list(scores))
    )


def whole_graph(reading: IndexReader) -> LinkGraph:
    """Return all documents and the links between them."""
    return LinkGraph(
        tuple(reading.catalogue.documents()),
        reading.links.communities(),
        tuple(reading.links.all()),
    )


def _distinct(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name is not None))
