"""Import: make a project of an export, in a folder that is moved to the others once it is whole.

Documents are read and cut again, and vectors are found by their text. So nothing that a file claims
about its chunks has to be believed, and an export of a version of dowse that cut differently still
brings the vectors of all that stayed the same.

An export comes from somebody else. Nothing in it may choose what is read, which program is asked or
which secret is sent along, so every setting that is taken is listed in `MAY_SET` with its reason.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from filelock import FileLock, Timeout
from msgspec import Meta, Struct, field

from dowse._config.schema import Settings, known_settings
from dowse._embed.models import KNOWN_MODELS
from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.source.files import Unreadable
from dowse._index.source.secrets import redact
from dowse._model import (
    EMBEDDING_TEXT_VERSION,
    Announce,
    ChunkedDocument,
    Counts,
    Event,
    IndexedDocument,
    Stamp,
    Vector,
    context_of,
    embedding_text,
    silent,
    text_key,
)
from dowse._model.ports import IndexWriter, Store
from dowse._project.archive.archive import (
    Archive,
    ChunkLine,
    DocumentLine,
    Manifest,
    open_archive,
)
from dowse._project.engine import Engine, takes_vectors
from dowse._project.indexing import PreparedDocument, store_documents
from dowse._project.registry import ELSEWHERE, TRASH, Project, update_toml
from dowse._project.workspace import Workspace
from dowse._text.scripts import is_readable
from dowse._util.files import (
    PRIVATE_FILE,
    Locations,
    make_private_folder,
    move_folder,
    remove_folder,
    replace_file,
    secure,
    sync_folder,
)
from dowse.errors import BadSettings, Damaged, DowseError, Locked, Refused, UsageError

_LONGEST_NAME = 200  # bytes; file systems take 255, and an ending is added


class Imported(Struct, frozen=True):
    """What an import brought."""

    project: Project
    counts: Counts
    notices: tuple[str, ...]  # what could not be brought, and how to change that


def import_project(
    workspace: Workspace,
    file: Path,
    *,
    name: str | None = None,
    roots: Sequence[Path] = (),
    replace: bool = False,
    announce: Announce = silent,
) -> Imported:
    """Make a project of an export; no model and no documents are needed.

    `roots` are the folders where its documents lie here, if they do. With `replace` it takes the
    place of a project of the same name, whose settings stay, and whose folders, as far as they are
    called the same. Whatever is wrong with the file, nothing is changed.
    """
    indexes = workspace.projects.indexes
    with open_archive(file) as archive, staging(workspace.locations) as folder:
        name = name or archive.manifest.project
        former = _former(workspace, name, replace=replace)
        home = workspace.locations.projects / (
            former.name if former else workspace.projects.check_new(name)
        )
        if former:
            replace_file(folder / former.settings_file.name, former.settings_file.read_bytes())
            indexes.carry(former.folder, folder)
            if not roots:  # those that are called the same, from the first one on
                pairs = zip(former.named_roots, archive.manifest.roots, strict=False)
                roots = tuple(
                    root.path for root, _ in takewhile(lambda pair: pair[0].name == pair[1], pairs)
                )
        project = Project(home.name, folder, _roots(archive.manifest, home, roots))
        update_toml(project.settings_file, "project.roots", [str(root) for root in project.roots])
        _carry_settings(workspace, project, archive.manifest)
        counts, notices = _make_index(workspace, project, archive, announce, replace=replace)
        if former is None:
            return Imported(workspace.projects.adopt(folder, name), counts, notices)
        # An index in an engine was replaced there already, and must get its settings now.
        is_elsewhere = bool(workspace.settings(project).settings.store.url)
        guard = nullcontext() if is_elsewhere else indexes.undisturbed(former.folder)
        put_in_place(folder, former.folder, guard)
        return Imported(workspace.projects.get(former.name), counts, notices)


def _former(workspace: Workspace, name: str, *, replace: bool) -> Project | None:
    """Find the project that is to be replaced; refuse a name that is taken by another."""
    if len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise UsageError("The name of the project is too long.", "Give it another one with -p.")
    if not workspace.projects.knows(name):
        return None
    if not replace:
        raise UsageError(
            f"There is a project {name!r} already.",
            "Replace it with --replace, or give this one another name with -p.",
        )
    return workspace.projects.get(name)


def _roots(manifest: Manifest, home: Path, given: Sequence[Path]) -> tuple[Path, ...]:
    """List the folders: those that are here, and names for those that are elsewhere."""
    if not all(
        name.isprintable() and "/" not in name and len(name.encode()) <= _LONGEST_NAME
        for name in manifest.roots
    ):
        raise Damaged("The export does not name its folders.", "Export it once more.")
    if len(given) > len(manifest.roots):
        raise UsageError(
            f"The export has {len(manifest.roots)} folders, not {len(given)}.",
            "Name one folder for each, in the order of docs/export.md.",
        )
    # The ending is there to be taken off: names of roots are what comes before it.
    elsewhere = [
        home / ELSEWHERE / f"{name or home.name}.root" for name in manifest.roots[len(given) :]
    ]
    project = Project(home.name, home, (*given, *elsewhere))
    for root, name in zip(project.named_roots, manifest.roots, strict=True):
        if root.name != name:
            raise UsageError(
                f"{root.path} stands for the folder {name!r} of the export.",
                "Name a folder that is called the same.",
            )
    return project.roots


# ── What it may set ───────────────────────────────────────────────────────

_CHUNKS = "A vector is found by the text of its chunk: cut in another way, none would fit."
_TERMS = "The index was checked with these terms: other rules would rank otherwise."

MAY_SET: Mapping[str, str] = {
    "embed.model": "Vectors fit queries of their own model only; a known name, never a place.",
    "embed.precision": "It belongs to the model; one of three words.",
    "chunk.strategy": _CHUNKS,
    "chunk.section_max": _CHUNKS,
    "chunk.section_min": _CHUNKS,
    "chunk.chunk_max": _CHUNKS,
    "chunk.chunk_min": _CHUNKS,
    "chunk.chunk_goal": _CHUNKS,
    "chunk.overlap": _CHUNKS,
    "chunk.fixed_size": _CHUNKS,
    "chunk.fixed_overlap": _CHUNKS,
    "chunk.context": _CHUNKS,
    "keyword.language": _TERMS,
    "keyword.stemming": _TERMS,
    "keyword.stopwords": _TERMS,
    "keyword.tokenizer": _TERMS,
    "keyword.title": _TERMS,
    "keyword.headers": _TERMS,
    "keyword.keywords": _TERMS,
    "keyword.description": _TERMS,
    "keyword.tags": _TERMS,
    "keyword.aliases": _TERMS,
    "keyword.author": _TERMS,
    "keyword.category": _TERMS,
    "keyword.content": _TERMS,
}
"""Every setting that an export may bring, and why it is taken."""

_LONGEST_TEXT = 200  # characters of a value, and of the name of a model

_Text = Annotated[str, Meta(max_length=_LONGEST_TEXT)]


class _BuiltWith(Struct, frozen=True):
    """What an import reads of the stamp of an export."""

    model: _Text
    dimensions: Annotated[int, Meta(ge=0, le=65_536)]
    chunk: dict[str, Any] = field(default_factory=dict)
    keyword: dict[str, Any] = field(default_factory=dict)


def _carry_settings(workspace: Workspace, project: Project, manifest: Manifest) -> None:
    """Set for the project what its index was built with, where the user's settings differ."""
    wishes = _carried(manifest)
    try:
        workspace.settings(project, wishes)
    except BadSettings as error:
        raise Damaged(
            f"The export was made with settings that do not fit: {error.message}",
            "Export it once more with this version of dowse.",
        ) from error
    current = workspace.settings(project).settings
    for name, wish in wishes.items():
        # Who wants no vectors, or has them made elsewhere, is not talked into a local model.
        is_foreign = name.startswith("embed.") and current.embed.provider != "local"
        if not is_foreign and wish != current.value(name):
            update_toml(project.settings_file, name, wish)


def _carried(manifest: Manifest) -> dict[str, bool | int | float | str]:
    """Read the settings that an export brings: numbers, switches and short words."""
    try:
        built = msgspec.convert(manifest.stamp, _BuiltWith)
        if not built.model.isprintable() or bool(built.dimensions) != takes_vectors(manifest.stamp):
            raise ValueError("its model and its dimensions do not belong together")
        wishes = {
            f"{section}.{option}": value
            for section, table in (
                ("chunk", built.chunk),
                ("keyword", built.keyword),
                ("embed", manifest.embed if manifest.embed.get("model") in KNOWN_MODELS else {}),
            )
            for option, value in table.items()
            if f"{section}.{option}" in MAY_SET
        }
        return msgspec.convert(wishes, dict[str, bool | int | float | _Text])
    except ValueError as error:  # msgspec's errors are such
        raise Damaged(
            f"The export does not say what it was made with: {error}.", "Export it again."
        ) from error


# ── Filling the index ─────────────────────────────────────────────────────

_NUMBERS = 1 << 22  # in the vectors that are kept at once: four bytes each
_NUMBERS_OF_DOCUMENT = 1 << 25
_ROUNDING = 0.05  # how far half floats may take a vector from unit length
_LARGEST = 2**63 - 1  # what a store must be able to hold: sizes and times


def _make_index(
    workspace: Workspace, project: Project, archive: Archive, announce: Announce, *, replace: bool
) -> tuple[Counts, tuple[str, ...]]:
    settings = workspace.settings(project).settings
    parts = workspace.parts(project, settings, announce, offline=True)
    with Engine(project, settings, parts) as engine:
        stamp, notice = _stamp(archive.manifest.stamp, engine)
        their_vectors = stamp["model"] == archive.manifest.stamp["model"] and not notice
        with _replacing(parts.store, allowed=replace) as writer:
            fill(writer, archive, stamp, settings, announce, keep_vectors=their_vectors)
            writer.note_roots([str(root) for root in project.roots])
            counts = writer.catalogue.counts()
    missing = counts.chunks - counts.embedded
    if not notice and missing and takes_vectors(stamp):
        notice = f"{missing:,} of {counts.chunks:,} chunks have no vectors yet."
    make = f"Make them with: dowse index -p {project.typed}"
    notices = [f"{notice} {make}"] if notice else []
    asked = {f"embed.{option}" for option in archive.manifest.embed} - MAY_SET.keys()
    if names := sorted(name for name in asked if name in known_settings()):
        notices.append(f"The export asks to set {', '.join(names)}: an import never does that.")
    return counts, tuple(notices)


def _stamp(theirs: Stamp, engine: Engine) -> tuple[Stamp, str]:
    """Decide what the index is stamped with, and say why their vectors cannot be used, if so.

    Terms and chunks are made here, so only the model is taken from the export; vectors of another
    model than the user's could never be compared with a query.
    """
    model = {
        "model": theirs["model"],
        "dimensions": theirs["dimensions"],
        "embedding_text": EMBEDDING_TEXT_VERSION,
    }
    wanted, settings = engine.expected_stamp(), engine.settings
    if not wanted.model and settings.embed.provider == "endpoint":
        raise Refused(
            "How long the vectors of your endpoint are is not known, and an import asks nobody.",
            "Say it: dowse config set embed.endpoint_dimensions NUMBER. Then import again.",
        )
    if not takes_vectors(theirs):
        return wanted.whole, ""
    if wanted.model and wanted.model != model:
        if not takes_vectors(wanted.whole):
            return wanted.whole, ""
        return wanted.whole, (
            f"Imported without vectors: they are of the model {model['model']},"
            f" your settings say {wanted.model['model']}."
        )
    if theirs.get("embedding_text") != EMBEDDING_TEXT_VERSION:
        return wanted.whole | model, "Imported without vectors: an older dowse made them."
    if context_of(theirs) != settings.chunk.context:
        return wanted.whole | model, (
            f"Imported without vectors: they were made with chunk.context = {context_of(theirs)},"
            f" your settings say {settings.chunk.context}."
        )
    return wanted.whole | model, ""


@contextmanager
def _replacing(store: Store, *, allowed: bool) -> Iterator[IndexWriter]:
    """Write an index from nothing; when that fails, the former one is there, or none."""
    is_new = False
    try:
        with store.read() as reader:
            is_new = reader.catalogue.stamp() is None
        if not is_new and not allowed:
            raise UsageError(
                f"There is an index already: {store.place}.",
                "Replace it with --replace, or choose another one with: dowse config set"
                " store.name NAME",
            )
        with store.replace() as writer:
            yield writer
    except BaseException:
        if is_new:
            with suppress(DowseError):  # an engine that is down removes nothing
                store.discard()
        raise


def fill(
    writer: IndexWriter,
    archive: Archive,
    stamp: Stamp,
    settings: Settings,
    announce: Announce,
    *,
    keep_vectors: bool,
) -> None:
    """Start an index and fill it, with the vectors of the export or without them."""
    writer.start(stamp)
    dimensions = int(archive.manifest.stamp["dimensions"])
    communities: dict[str, int] = {}

    def documents() -> Iterator[PreparedDocument]:
        for line, chunks, chunked in _documents(archive, settings):
            if line.community is not None:
                communities[line.id] = line.community
            vectors = _vectors(chunks, chunked, dimensions)  # they are checked in any case
            yield IndexedDocument(chunked, line.file), vectors if keep_vectors else {}

    total = archive.manifest.documents
    store_documents(writer, documents(), lambda done: announce(Event("import", done, total)))
    words: dict[bytes, Vector] = {}
    for line in archive.words():
        words[text_key(line.word)] = _vector(line.vector, dimensions)
        if len(words) * dimensions >= _NUMBERS:
            writer.remember(words if keep_vectors else {})
            words = {}
    writer.remember(words if keep_vectors else {})
    writer.set_communities(communities)


def _documents(
    archive: Archive, settings: Settings
) -> Iterator[tuple[DocumentLine, Iterator[ChunkLine], ChunkedDocument]]:
    """Read all documents as lines, each with the lines of its chunks, and cut as here.

    Refuse a document that could not come from a folder.
    """
    seen = set[str]()
    longest = settings.read.max_bytes
    for line, chunks in archive.documents():
        parts, state = line.id.split("/"), line.file
        is_path = all(
            part not in {"", ".", ".."} and len(part.encode()) <= 255  # as file systems take it
            for part in parts
        )
        if not is_path or "\0" in line.id or len(line.id.encode()) > 4096:  # as for any path
            raise _wrong(f"{line.id[:100]!r} is not the path of a document")
        if line.id in seen:
            raise _wrong(f"it has {line.id!r} twice")
        seen.add(line.id)
        if "\0" in line.text or "\r" in line.text:
            raise _wrong(f"{line.id!r} holds characters that no text has")
        if len(line.text) > longest:
            raise Refused(
                f"{line.id!r} has {len(line.text):,} characters, the limit is {longest:,}.",
                "Raise the limit with: dowse config set read.max_bytes NUMBER",
            )
        is_file = 0 <= state.size <= _LARGEST and abs(state.mtime_ns) <= _LARGEST
        if not is_file or len(state.digest) > 200:
            raise _wrong(f"{line.id!r} has a size, a time or a checksum that no file has")
        try:
            text = redact(line.text, settings.read.redact)[0]  # as it would be read from its file
        except Unreadable as error:
            raise _wrong(f"{line.id!r} cannot be used: {error.reason}") from error
        yield line, chunks, chunk(parse(line.id, text), settings.chunk)


def _vectors(
    chunks: Iterator[ChunkLine], chunked: ChunkedDocument, dimensions: int
) -> dict[bytes, Vector]:
    """Read the vectors of the chunks that the document has here; there may be more in the file."""
    title, context = chunked.document.fields.title, chunked.context
    wanted = {text_key(chunked.embedding_text(one)) for one in chunked.chunks}
    found: dict[bytes, Vector] = {}
    for one in chunks:
        if one.vector is None:
            continue
        text = embedding_text(title, one.header_path, one.text, context)
        is_latin = is_readable(text, ())  # of others a model may have read nothing
        key, vector = text_key(text), _vector(one.vector, dimensions, is_readable=is_latin)
        # Those of a document that are too many for memory can be made again.
        if key in wanted and len(found) * dimensions < _NUMBERS_OF_DOCUMENT:
            found[key] = vector
    return found


def _vector(kept: bytes, dimensions: int, *, is_readable: bool = True) -> Vector:
    if len(kept) != 2 * dimensions:
        raise _wrong(f"a vector has {len(kept) // 2} dimensions instead of {dimensions}")
    vector: Vector = np.frombuffer(kept, dtype="<f2").astype(np.float32)
    if not is_readable and not vector.any():
        return vector  # the model has read nothing of the text
    if not abs(float(np.linalg.norm(vector)) - 1) < _ROUNDING:  # not so for what is no number, too
        raise _wrong("a vector is not of unit length")
    return vector


def _wrong(what: str) -> Damaged:
    return Damaged(f"The export is inconsistent: {what}.", "Ask its author for another one.")


# ── Where it is made, and what killed imports leave there ─────────────────────────

# Each import has a folder of its own next to the projects, with a lock in it that the operating
# system drops when the process dies. A folder whose lock is free belongs to nobody any more.
_PREFIX = "import-"
_FORMER = "former-"  # before the name of a project that was moved aside
_LOCK = "lock"


@contextmanager
def staging(where: Locations) -> Iterator[Path]:
    """Lend a folder for a project in the making; whatever is still there at the end is removed."""
    make_private_folder(where.data)
    secure(where)
    clear_abandoned(where)
    folder, lock = _own_folder(where.data)
    try:
        made = folder / "project"
        make_private_folder(made)
        yield made
    finally:
        _remove(folder, lock)


def _own_folder(data: Path) -> tuple[Path, FileLock]:
    for _ in range(10):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=data))
        lock = FileLock(folder / _LOCK, mode=PRIVATE_FILE)
        # Another import may have taken the folder for an abandoned one, just before this.
        with suppress(Timeout, FileNotFoundError):
            lock.acquire(timeout=0)
            if (folder / _LOCK).exists():
                return folder, lock
            lock.release()
    raise Locked("Other imports are under way.", "Wait for them to end, and try again.")


def put_in_place(folder: Path, former: Path, guard: AbstractContextManager[object]) -> None:
    """Exchange a folder with that of a project, while `guard` keeps writers away.

    There is always one of them in the place: a reader of the former index goes on with it, and
    finds the new one next time. Where the system cannot exchange two folders at once, the former
    project is for a moment in the import's own folder, under a name that says where it belongs.
    """
    with guard:
        if not _exchange(folder, former):
            aside = folder.with_name(f"{_FORMER}{former.name}")
            move_folder(former, aside)
            try:
                move_folder(folder, former)
            except (OSError, Locked):
                move_folder(aside, former)
                raise
            move_folder(aside, folder)
        sync_folder(former.parent)
        sync_folder(folder.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders at once; False where the system cannot."""
    if os.name != "posix":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    at_fdcwd, rename_exchange = -100, 2
    return not rename(at_fdcwd, os.fsencode(one), at_fdcwd, os.fsencode(other), rename_exchange)


def abandoned(where: Locations) -> list[Path]:
    """List the folders that killed imports and removals have left."""
    return [folder for folder, _ in _leftovers(where)]


def clear_abandoned(where: Locations) -> int:
    """Remove what killed imports and removals have left, and return how many there were.

    A project that one of them had moved aside, and did not replace yet, is moved back.
    """
    cleared = 0
    for folder, lock in _leftovers(where):
        with suppress(OSError):
            for aside in folder.glob(f"{_FORMER}*"):
                home = where.projects / aside.name.removeprefix(_FORMER)
                if not home.exists():
                    move_folder(aside, home)
            _remove(folder, lock)
        cleared += not folder.exists()
    return cleared


def _leftovers(where: Locations) -> Iterator[tuple[Path, FileLock | None]]:
    """List removed projects, and folders of no living import, each with its lock, now held."""
    for trash in sorted(where.data.glob(f"{TRASH}*")):
        yield trash, None
    for folder in sorted(where.data.glob(f"{_PREFIX}*")):
        lock = FileLock(folder / _LOCK, mode=PRIVATE_FILE)
        with suppress(OSError, Timeout):  # it is gone, or an import is using it
            if (folder / _LOCK).exists():
                with lock.acquire(timeout=0):
                    yield folder, lock
            elif time.time() - folder.stat().st_mtime >= 3600:  # younger: it is being made now
                yield folder, None


def _remove(folder: Path, lock: FileLock | None) -> None:
    """Remove all but the lock first, so that what is left after a crash can be recognised."""
    if lock is not None:
        for path in folder.iterdir():
            if path.name != _LOCK:
                remove_folder(path)
        lock.release()
    remove_folder(folder)
