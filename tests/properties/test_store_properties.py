"""Whatever is done to an index in whatever order, it holds what its last documents say.

Three witnesses: the embedded store that went through everything, the in-memory store that went
through the same, and an embedded store that was only ever given the final documents.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from documents import STAMP, PlainAnalyzer, link, make_document, vector_of, vectors_of
from dowse._model import (
    Batch,
    Condition,
    ConditionKind,
    Fields,
    IndexedDocument,
    LinkKind,
    Scores,
    Vector,
    text_key,
)
from dowse._model.ports import IndexReader, KeywordField, Store
from dowse._store.store import EmbeddedStore
from effort import examples
from index_content import content, waiting_texts
from memory_store import MemoryStore

_WORDS = ["apple", "pear", "plum", "cherry", "fig", "of"]
_IDS = ["a.md", "b.md", "sub/a.md", "sub/index.md", "sub/deep/b.txt", "@r/a.md", "README.md"]
_TARGETS = [
    "a",
    "b",
    "sub",
    "../a.md",
    "/a.md",
    "deep/b",
    "alias",
    "x/alias",
    "y/alias",
    "none",
    "",
]
_KINDS: list[LinkKind] = ["wikilink", "embed", "relative", "related"]
_EVERYTHING = 10_000
_FIELDS: tuple[KeywordField, ...] = ("body", "code")


# ── What can happen to an index ──────────────────────────────────────────────

_words = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=8).map(" ".join)
_paragraphs = st.one_of(_words, _words.map("# {}".format), _words.map("```py\n{}\n```".format))
_links = st.builds(
    link, st.sampled_from(_TARGETS), st.sampled_from(_KINDS), st.integers(min_value=1, max_value=3)
)


@st.composite
def _documents(draw: st.DrawFn) -> IndexedDocument:
    return make_document(
        draw(st.sampled_from(_IDS)),
        "\n\n".join(draw(st.lists(_paragraphs, max_size=4))),
        links=draw(st.lists(_links, max_size=3)),
        aliases=draw(st.lists(st.sampled_from(["alias", "x/alias", "y/alias", "a"]), max_size=2)),
    )


@st.composite
def _batches(draw: st.DrawFn) -> Batch:
    put = draw(st.lists(_documents(), max_size=3))
    embedded = [document for document in put if draw(st.booleans())]
    gone = draw(st.lists(st.sampled_from(_IDS), max_size=2))
    touched = draw(st.lists(st.sampled_from(_IDS), max_size=1))
    state = replace(make_document("", "").state, mtime_ns=draw(st.integers(0, 9)))
    return Batch(
        tuple(put), tuple(gone), tuple((name, state) for name in touched), vectors_of(*embedded)
    )


@dataclass(frozen=True)
class Remember:
    """Vectors come for some of the chunks that wait for one: each nth."""

    nth: int


Step = Batch | Remember | str

_fields = st.builds(
    Fields,
    title=_words,
    tags=st.lists(st.sampled_from(["a", "a/b", "A/b/c", "ab"]), max_size=2).map(tuple),
    author=st.lists(st.sampled_from(["Ann", "Bo Ann"]), max_size=2).map(tuple),
    category=st.sampled_from(["", "Note", "guide"]),
    modified=st.one_of(st.none(), st.sampled_from([1.0, 2.5, 4.0])),
)


@st.composite
def _described(draw: st.DrawFn) -> IndexedDocument:
    return make_document(
        draw(st.sampled_from(_IDS)),
        "\n\n".join(draw(st.lists(_paragraphs, max_size=4))),
        fields=draw(_fields),
        mtime_ns=draw(st.integers(0, 5)) * 10**9,
    )


_VALUES: dict[ConditionKind, list[str]] = {
    "category": ["note", "GUIDE", ""],
    "author": ["ann", "bo", "o a"],
    "tag": ["a", "a/B", "b", "a/b/c"],
    "title": ["pl", "APPLE", "e p"],
    "path": ["a.md", "SUB", "/"],
    "under": ["sub/", "@r", "A"],
    "source": ["md", "TXT"],
    "language": ["PY", "js"],
    "phrase": _WORDS,
}
_conditions = st.one_of(
    st.sampled_from(sorted(_VALUES)).flatmap(
        lambda kind: st.builds(
            Condition,
            st.just(kind),
            st.lists(st.sampled_from(_VALUES[kind]), max_size=3).map(tuple),
            negated=st.booleans(),
        )
    ),
    st.builds(
        Condition,
        st.sampled_from(["after", "before"]),
        bound=st.sampled_from([0.0, 1.0, 2.5, 3.0, 9.0]),
        negated=st.booleans(),
    ),
)

_steps = st.lists(
    st.one_of(
        _batches(), st.builds(Remember, st.integers(1, 3)), st.sampled_from(["reopen", "repair"])
    ),
    min_size=1,
    max_size=7,
)


@dataclass
class Left:
    """What is left of all steps, kept in the plainest way."""

    documents: dict[str, IndexedDocument] = field(default_factory=dict)
    vectors: dict[bytes, Vector] = field(default_factory=dict)

    def take(self, batch: Batch) -> None:
        for name in batch.gone:
            self.documents.pop(name, None)
        self.documents |= {put.chunked.document.id: put for put in batch.put}
        for name, state in batch.touched:
            if name in self.documents:
                self.documents[name] = replace(self.documents[name], state=state)
        self.vectors |= batch.vectors


def _take(store: Store, step: Step, left: Left) -> None:
    if step == "reopen":
        store.close()
    elif step == "repair":
        store.repair()
    elif isinstance(step, Batch):
        with store.write() as writing:
            writing.apply(step)
        left.take(step)
    elif isinstance(step, Remember):
        with store.write() as writing:
            texts = waiting_texts(writing)[:: step.nth]
            vectors = {text_key(text): vector_of(text) for text in texts}
            writing.remember(vectors)
        left.vectors |= vectors


@contextmanager
def _embedded() -> Iterator[EmbeddedStore]:
    # In memory where that can be had: what a disk costs is no part of these properties.
    memory = Path("/dev/shm")  # noqa: S108  (a folder of its own is made in it)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        store = EmbeddedStore(Path(folder) / "index", PlainAnalyzer())
        with store.write() as writing:
            writing.start(STAMP)
        yield store
        store.close()


def _memory() -> MemoryStore:
    store = MemoryStore(PlainAnalyzer())
    with store.write() as writing:
        writing.start(STAMP)
    return store


# ── What can be observed of it ───────────────────────────────────────────────


def _observed(store: Store) -> dict[str, Any]:
    """Everything, chunk keys included: equal steps give equal keys."""
    with store.read() as reading:
        return {
            **content(reading),
            "generation": reading.catalogue.generation,
            "states": reading.catalogue.files(),
            "waiting": waiting_texts(reading),
            "find": reading.catalogue.find("a"),
            "chunks": reading.catalogue.chunks(range(_EVERYTHING)),
            "nearest": reading.vectors.nearest(vector_of("query"), _EVERYTHING),
            "first": reading.vectors.nearest(vector_of("query"), 2),
            "words": {
                word: _keys(reading.keyword.search("body", [word], _EVERYTHING)) for word in _WORDS
            },
            "code": {
                word: _keys(reading.keyword.search("code", [word], _EVERYTHING)) for word in _WORDS
            },
            "vectors of chunks": _plain(reading.vectors.of(range(_EVERYTHING))),
            "links of": [reading.links.of([document_id]) for document_id in _IDS],
            "keys of": [reading.catalogue.keys_of([document_id]).tolist() for document_id in _IDS],
            "frequencies": reading.keyword.frequencies("body", _WORDS),
            "size": reading.keyword.size,
            "begin": [reading.vocabulary.beginning(word[:1], 3) for word in _WORDS],
            "nearly": [
                reading.vocabulary.spelled_like(word, 3) for word in ("aple", "chery", "plumm")
            ],
            "under": reading.matching([Condition("under", ("SUB/",))]).tolist(),
            "late": reading.matching([Condition("after", bound=5e-9)]).tolist(),
        }


def _plain(vectors: Mapping[int, Vector]) -> dict[int, list[float]]:
    return {key: vector.tolist() for key, vector in vectors.items()}


def _keys(scores: Scores) -> set[int]:
    return {key for key, _ in scores}


def _named(reading: IndexReader, scores: Scores) -> list[tuple[str, str, float]]:
    """Scores by document and chunk id, since another history gives other keys."""
    by_key = dict(scores)
    chunks = reading.catalogue.chunks([key for key, _ in scores])
    return sorted((one.document.id, one.chunk.id, by_key[one.key]) for one in chunks)


def _settled(store: Store) -> dict[str, Any]:
    """What does not depend on how the index came about."""
    with store.read() as reading:
        # Scores of keyword search do: what is deleted counts in tantivy's statistics until
        # segments merge. So only the sets of chunks are compared, in `content`.
        return {
            **content(reading),
            "states": reading.catalogue.files(),
            "nearest": _named(reading, reading.vectors.nearest(vector_of("query"), _EVERYTHING)),
            "code": {
                word: [
                    named[:2]
                    for named in _named(
                        reading, reading.keyword.search("code", [word], _EVERYTHING)
                    )
                ]
                for word in _WORDS
            },
        }


def _word_counts(store: EmbeddedStore) -> dict[str, int]:
    with store._server.borrow() as connection:
        return dict(connection.execute("SELECT term, count FROM terms").fetchall())


# ── The properties ───────────────────────────────────────────────────────────


@examples(20, 50)
@given(_steps)
def test_any_history_leaves_what_its_last_documents_say(steps: list[Step]) -> None:
    memory, left = _memory(), Left()
    with _embedded() as embedded, _embedded() as fresh:
        for step in steps:
            _take(embedded, step, left)
            _take(memory, step, Left())
        assert _observed(embedded) == _observed(memory)
        with fresh.write() as writing:
            writing.apply(Batch(tuple(left.documents.values()), vectors=left.vectors))
        assert _settled(embedded) == _settled(fresh)
        assert _word_counts(embedded) == _word_counts(fresh)
        assert embedded.check() == []
        with embedded.write() as writing:
            writing.tidy(10_000)
        assert _settled(embedded) == _settled(fresh)


@examples(15, 40)
@given(
    st.lists(st.lists(st.sampled_from(_WORDS), max_size=36), min_size=1, max_size=12),
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4),
    st.booleans(),
)
def test_keyword_scores_are_those_of_plain_bm25(
    bodies: list[list[str]], terms: list[str], one_batch: bool
) -> None:
    """Up to 40 terms, which tantivy still counts exactly; longer texts it rounds."""
    documents = [
        make_document(f"{number}.md", f"```\n{' '.join(body)}\n```", fields=Fields(title="fig"))
        for number, body in enumerate(bodies)
    ]
    groups = [documents] if one_batch else [[document] for document in documents]
    memory = _memory()
    with _embedded() as embedded:
        for store in (embedded, memory):
            with store.write() as writing:
                for group in groups:
                    writing.apply(Batch(tuple(group)))
        with embedded.read() as found, memory.read() as expected:
            for field in _FIELDS:
                scores = dict(found.keyword.search(field, terms, 100))
                plain = dict(expected.keyword.search(field, terms, 100))
                assert scores == pytest.approx(plain, rel=1e-3)
                assert list(scores.values()) == sorted(scores.values(), reverse=True)


@examples(20, 50)
@given(
    st.lists(st.lists(_described(), min_size=1, max_size=5), min_size=1, max_size=3),
    st.lists(_conditions, max_size=3),
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4, unique=True),
    st.integers(1, 6),
)
def test_a_filtered_ranking_is_the_unlimited_one_filtered(
    batches: list[list[IndexedDocument]], conditions: list[Condition], terms: list[str], limit: int
) -> None:
    memory = _memory()
    with _embedded() as embedded:
        for store in (embedded, memory):
            with store.write() as writing:
                for put in batches:
                    writing.apply(Batch(tuple(put), vectors=vectors_of(*put)))
        with embedded.read() as reading, memory.read() as witness:
            among = reading.matching(conditions)
            assert among.tolist() == witness.matching(conditions).tolist()
            allowed = set(among.tolist())
            searches: list[Callable[..., Scores]] = [
                lambda one, *how: one.keyword.search("body", terms, *how),
                lambda one, *how: one.keyword.search("code", terms, *how),
                lambda one, *how: one.vectors.nearest(vector_of("query"), *how),
            ]
            for search in searches:
                everything = search(reading, _EVERYTHING)
                expected = [pair for pair in everything if pair[0] in allowed]
                assert search(reading, limit, among) == expected[:limit]
                plain = search(witness, _EVERYTHING, among)
                assert {key for key, _ in plain} == {key for key, _ in expected}
