"""Exporting and importing: nothing is lost on the way, and no file can do harm."""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from msgspec.structs import replace

from dowse._config.schema import Settings, known_settings
from dowse._embed.options import EmbedOptions
from dowse._model import Event, Model, Response, silent
from dowse._model.ports import Embedder
from dowse._project.archive.archive import export_project, open_archive, pack
from dowse._project.archive.import_ import (
    MAY_SET,
    Imported,
    abandoned,
    clear_abandoned,
    fill,
    import_project,
)
from dowse._project.engine import Engine
from dowse._project.workspace import Given, Workspace
from dowse._search.request import SearchRequest
from dowse._store.store import EmbeddedStore
from dowse._text.analyzer import TextAnalyzer
from dowse._util.files import Locations
from dowse.errors import (
    Damaged,
    DowseError,
    Locked,
    NotFound,
    Refused,
    StampMismatch,
    UsageError,
    WeightsMissing,
)
from dowse.testing import HashEmbedder, NoEmbedder
from index_content import content
from memory_store import MemoryStore
from vaults import note, write_vault

QUERIES = ("restore a backup", "gateway radio", "station_3", '"clock drift"', "antenna -rain")


_WORDS = 100  # of the vocabulary that have a vector


@pytest.fixture(autouse=True)
def _model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DOWSE_")]:
        monkeypatch.delenv(name)


def use(workspace: Workspace, embedder: Embedder | None) -> None:
    """Lets everything that is opened from now on embed with this."""
    workspace.given = Given(embedder)


def user(folder: Path) -> Workspace:
    """Somebody with an empty dowse of their own."""
    where = Locations(folder / "config", folder / "data", folder / "cache")
    return Workspace(where, Given(HashEmbedder()))


@pytest.fixture
def ours(tmp_path: Path) -> Workspace:
    """A user with an indexed project whose documents were changed after the first indexing."""
    return make_notes(tmp_path)


def make_notes(folder: Path) -> Workspace:
    """A user with an indexed project of notes."""
    vault, workspace = folder / "notes", user(folder / "ours")
    write_vault(vault, 20)
    (vault / "empty.md").write_text("", "utf-8")
    (vault / "winter.txt").write_text("冬の点検 ❄️\n", "utf-8")
    project = workspace.projects.add([vault])
    workspace.change_setting("vocabulary.size", str(_WORDS), project)
    with workspace.open(project) as engine:
        engine.index()
        (vault / "part-0" / "note-0.md").unlink()
        (vault / "part-1" / "note-1.md").write_text(note(1, 20, random.Random(9)), "utf-8")
        engine.index()
    return workspace


@pytest.fixture
def theirs(tmp_path: Path) -> Workspace:
    """A colleague who has nothing yet."""
    return user(tmp_path / "theirs")


@pytest.fixture
def exported(ours: Workspace, tmp_path: Path) -> Path:
    """The project, exported."""
    export_project(ours, ours.projects.get("notes"), tmp_path / "notes.dowse")
    return tmp_path / "notes.dowse"


@pytest.fixture(scope="module")
def sample_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Such a project, exported once for all who only need the file."""
    folder = tmp_path_factory.mktemp("sample")
    workspace = make_notes(folder)
    export_project(workspace, workspace.projects.get("notes"), folder / "notes.dowse")
    return (folder / "notes.dowse").read_bytes()


@pytest.fixture
def sample(sample_bytes: bytes, tmp_path: Path) -> Path:
    """A file of one's own."""
    (tmp_path / "notes.dowse").write_bytes(sample_bytes)
    return tmp_path / "notes.dowse"


@contextmanager
def opened(workspace: Workspace, name: str = "notes") -> Iterator[Engine]:
    with workspace.open(workspace.projects.get(name)) as engine:
        yield engine


def seen(response: Response) -> list[object]:
    """What a response shows, without what tells whether the file is there."""
    return [replace(hit, stale=False) for hit in response.hits]


# ── Nothing is lost ──────────────────────────────────────────────────────────


def test_an_import_is_the_index_that_was_exported(
    ours: Workspace, theirs: Workspace, exported: Path
) -> None:
    done = import_project(theirs, exported)
    assert done.notices == ()
    with opened(ours) as one, opened(theirs) as other:
        with one.parts.store.read() as a, other.parts.store.read() as b:
            assert content(a) == content(b)
            assert a.catalogue.files() == b.catalogue.files()
            assert done.counts == a.catalogue.counts()
        assert other.check() == []


class LatinEmbedder(HashEmbedder):
    """Reads Latin letters alone, as models trained on English do."""

    @property
    def model(self) -> Model:
        return replace(super().model, scripts=())


def test_texts_that_the_model_cannot_read_are_imported_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "zh.md").write_text("# 备份\n\n每天晚上进行一次数据库备份\n", "utf-8")
    (folder / "en.md").write_text("# Backups\n\nEvery night the database is dumped.\n", "utf-8")
    ours, theirs = user(tmp_path / "ours"), user(tmp_path / "theirs")
    use(ours, LatinEmbedder())
    use(theirs, LatinEmbedder())
    with ours.open(ours.projects.add([folder])) as engine:
        engine.index()
    export_project(ours, ours.projects.get("notes"), tmp_path / "notes.dowse")
    done = import_project(theirs, tmp_path / "notes.dowse")
    assert (done.notices, done.counts.embedded, done.counts.chunks) == ((), 2, 2)


def test_searches_give_the_same_before_and_after(
    ours: Workspace, theirs: Workspace, tmp_path: Path
) -> None:
    with opened(ours) as engine:
        engine.index(rebuild=True)  # what was deleted before may still weigh in keyword scores
    export_project(ours, ours.projects.get("notes"), tmp_path / "x")
    import_project(theirs, tmp_path / "x")
    with opened(ours) as one, opened(theirs) as other:
        for query in QUERIES:
            for mode in ("hybrid", "keyword", "semantic", "code"):
                changes = {"search.mode": mode, "search.top_n": 8}
                before = one.search(SearchRequest(query, changes=changes))
                after = other.search(SearchRequest(query, changes=changes))
                assert seen(before) == seen(after), (query, mode)
                assert before.counts == after.counts


@pytest.mark.parametrize("seed", range(4))
def test_exporting_an_import_gives_the_same_bytes(
    tmp_path: Path, theirs: Workspace, seed: int
) -> None:
    workspace, rng = user(tmp_path / "ours"), random.Random(seed)
    write_vault(tmp_path / "notes", 12, seed)
    project = workspace.projects.add([tmp_path / "notes"])
    with workspace.open(project) as engine:
        engine.index()
        for path in rng.sample(sorted((tmp_path / "notes").rglob("*.md")), 5):
            path.unlink() if rng.random() < 0.5 else path.write_text(note(3, 12, rng), "utf-8")
        engine.index()
    export_project(workspace, project, tmp_path / "one")
    imported = import_project(theirs, tmp_path / "one").project
    export_project(theirs, imported, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_odd_documents_survive_the_way(tmp_path: Path, theirs: Workspace, ours: Workspace) -> None:
    odd = {
        'a "b"\n c.md': '---\ntitle: "\\ud800 \\0 x"\naliases: [1, null]\n---\nText\u2028more\n',
        "ｆｕｌｌ é ☃.md": "# \x1b[31m red \u202e\n\n<script>alert(1)</script>\n",
        "deep/@notes/x.md": "---\ndate: 9999-12-31\nmodified: 0001-01-01\n---\n# Old\n",
        "related.md": "---\nrelated: [nowhere, x]\n---\n[[a]] ```js\nx\n```\n\n~~~PY\ny = 1\n~~~\n",
        "spaces.md": "   \n\n\t\n",
        "long.md": "word " * 5000,
    }
    folder = tmp_path / "odd"
    for name, text in odd.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    project = ours.projects.add([folder])
    with ours.open(project) as engine:
        assert engine.index().added == len(odd)
    export_project(ours, project, tmp_path / "one")
    imported = import_project(theirs, tmp_path / "one").project
    export_project(theirs, imported, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with (
        opened(ours, "odd") as one,
        opened(theirs, "odd") as other,
        one.parts.store.read() as a,
        other.parts.store.read() as b,
    ):
        assert content(a) == content(b)


@pytest.mark.parametrize("kind", ["embedded", "memory"])
def test_every_store_can_export_and_import(
    ours: Workspace, exported: Path, tmp_path: Path, kind: str
) -> None:
    settings = Settings()
    analyzer = TextAnalyzer(settings.keyword)
    store = MemoryStore(analyzer) if kind == "memory" else EmbeddedStore(tmp_path / "new", analyzer)
    with open_archive(exported) as archive:
        stamp, manifest = archive.manifest.stamp, archive.manifest
        with store.write() as writing:
            fill(writing, archive, stamp, settings, silent, keep_vectors=True)
    again = io.BytesIO()
    with store.read() as reading:
        pack(
            reading,
            stamp,
            again,
            silent,
            project=manifest.project,
            roots=manifest.roots,
            embed=manifest.embed,
            vocabulary=_WORDS,
        )
        with opened(ours) as engine, engine.parts.store.read() as before:
            assert content(reading) == content(before)
    store.close()
    assert again.getvalue() == exported.read_bytes()


def test_others_can_read_the_file(sample: Path) -> None:
    with zipfile.ZipFile(sample) as file:
        manifest = json.loads(file.read("manifest.json"))
        documents = [json.loads(line) for line in file.read("documents.jsonl").splitlines()]
        chunks = [json.loads(line) for line in file.read("chunks.jsonl").splitlines()]
    texts = {document["id"]: document["text"] for document in documents}
    assert manifest["documents"] == len(documents) == 21
    for chunk in chunks:
        assert chunk["text"] == texts[chunk["document"]][chunk["start"] : chunk["end"]]
        vector = np.frombuffer(base64.b64decode(chunk["vector"]), "<f2")
        assert vector.shape == (manifest["stamp"]["dimensions"],)


def test_an_export_says_nothing_of_the_machine(sample: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(sample) as file:
        for name in file.namelist():
            assert str(tmp_path).encode() not in file.read(name)


def test_progress_is_reported(ours: Workspace, theirs: Workspace, tmp_path: Path) -> None:
    events: list[Event] = []
    project = ours.projects.get("notes")
    export_project(ours, project, tmp_path / "x", announce=events.append)
    import_project(theirs, tmp_path / "x", announce=events.append)
    for stage in ("export", "import"):
        told = [event for event in events if event.stage == stage]
        assert (told[-1].done, told[-1].total) == (21, 21)


# ── Without the model, without the documents ─────────────────────────────────


def test_importing_embeds_nothing_and_words_find_at_once(theirs: Workspace, sample: Path) -> None:
    use(theirs, NoEmbedder())
    done = import_project(theirs, sample)
    assert done.counts.embedded == done.counts.chunks
    with opened(theirs) as engine:
        found = engine.search(SearchRequest("gateway radio"))
        assert found.hits
        assert any("words alone" in notice for notice in found.notices), found.notices


def test_where_not_even_the_model_is_known_the_vectors_are_kept_for_later(
    theirs: Workspace, sample: Path
) -> None:
    class Unknown(NoEmbedder):
        @property
        def model(self) -> Any:
            raise WeightsMissing("The weights are not here.", "Fetch them.")

        @model.setter
        def model(self, _: object) -> None:
            pass

    use(theirs, Unknown())
    done = import_project(theirs, sample)
    assert done.notices == ()
    with opened(theirs) as engine:
        assert engine.search(SearchRequest("gateway")).hits
    use(theirs, HashEmbedder())
    with opened(theirs) as engine:
        assert engine.search(SearchRequest("gateway", changes={"search.mode": "semantic"})).hits


def test_vectors_of_another_model_are_left_out_and_can_be_made(
    theirs: Workspace, sample: Path
) -> None:
    use(theirs, HashEmbedder(32))
    done = import_project(theirs, sample)
    assert "hash/64" in done.notices[0]
    assert "dowse index -p notes" in done.notices[0]
    assert done.counts.embedded == 0
    with opened(theirs) as engine:
        assert engine.search(SearchRequest("gateway")).hits
        engine.index()  # the documents are not here, their texts are
        assert engine.status().counts.embedded == done.counts.chunks
        assert engine.search(SearchRequest("gateway", changes={"search.mode": "semantic"})).hits


def test_who_wants_no_vectors_gets_none(
    theirs: Workspace, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOWSE_EMBED_PROVIDER", "none")
    use(theirs, None)
    done = import_project(theirs, sample)
    assert (done.notices, done.counts.embedded) == ((), 0)
    with opened(theirs) as engine:
        assert engine.search(SearchRequest("gateway")).notices == ()


def test_an_index_without_vectors_can_be_exported(
    ours: Workspace, theirs: Workspace, tmp_path: Path
) -> None:
    ours.change_setting("embed.provider", "none", None)
    use(ours, None)
    project = ours.projects.get("notes")
    with ours.open(project) as engine:
        engine.index(rebuild=True)
    told = export_project(ours, project, tmp_path / "words.dowse")
    assert (told.vectors, told.notices) == (0, ())
    done = import_project(theirs, tmp_path / "words.dowse")
    assert "no vectors yet" in done.notices[0]
    with opened(theirs) as engine:
        assert engine.search(SearchRequest("gateway")).hits
        assert engine.index().embedded > 0


def test_missing_vectors_are_reported_when_exporting(tmp_path: Path) -> None:
    workspace = user(tmp_path / "ours")
    use(workspace, NoEmbedder())
    write_vault(tmp_path / "notes", 3)
    project = workspace.projects.add([tmp_path / "notes"])
    with workspace.open(project) as engine:
        engine.index()
    told = export_project(workspace, project, tmp_path / "x")
    assert "have no vectors" in told.notices[0]


def test_documents_that_are_elsewhere_stay_through_everything(
    theirs: Workspace, sample: Path
) -> None:
    import_project(theirs, sample)
    with opened(theirs) as engine:
        hit = engine.search(SearchRequest("gateway radio")).hits[0]
        assert not hit.stale  # what was imported is all that is known
        assert engine.get(hit.document).text
        report = engine.index()
        assert (report.removed, report.complete) == (0, False)
        status = engine.status()
        assert status.counts.documents == 21
        assert (status.freshness.new, status.freshness.deleted) == (0, 0)
        assert status.imported == status.roots
        assert not engine.path_of(hit.document).exists()
        with pytest.raises(Refused, match="nothing to build the index from"):
            engine.index(rebuild=True)
        assert engine.search(SearchRequest("gateway radio")).hits
    renamed = theirs.projects.rename("notes", "renamed")
    assert all(renamed.is_elsewhere(root) for root in renamed.roots)


def test_documents_that_are_here_are_known_again(
    theirs: Workspace, exported: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "notes", copy, copy_function=shutil.copyfile)
    embedder = HashEmbedder()
    use(theirs, embedder)
    import_project(theirs, exported, name="here", roots=[copy])
    with opened(theirs, "here") as engine:
        assert not engine.search(SearchRequest("gateway radio")).hits[0].stale
        report = engine.index()
        assert (report.added, report.changed, report.removed) == (0, 0, 0)
        (copy / "part-2" / "note-2.md").write_text("# Quite new\n", "utf-8")
        assert engine.index().changed == 1
    assert embedder.texts[0] == "Quite new\n\n# Quite new"


def test_folders_keep_their_names(ours: Workspace, theirs: Workspace, tmp_path: Path) -> None:
    for name in ("a", "v1.2", "b/v1.2"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.md").write_text(f"# In {name}\n", "utf-8")
    project = ours.projects.add([tmp_path / "a", tmp_path / "v1.2", tmp_path / "b/v1.2"], "many")
    with ours.open(project) as engine:
        engine.index()
    export_project(ours, project, tmp_path / "many.dowse")
    done = import_project(theirs, tmp_path / "many.dowse").project
    assert [root.name for root in done.named_roots] == [root.name for root in project.named_roots]
    half = [tmp_path / "a", tmp_path / "v1.2"]
    done = import_project(theirs, tmp_path / "many.dowse", name="half", roots=half).project
    assert [root.name for root in done.named_roots] == ["", "v1", "v1-2"]
    with pytest.raises(UsageError, match="'v1'"):
        import_project(theirs, tmp_path / "many.dowse", name="x", roots=[tmp_path / "a"] * 2)
    with pytest.raises(UsageError, match="3 folders"):
        import_project(theirs, tmp_path / "many.dowse", name="x", roots=half * 2)
    assert not theirs.projects.knows("x")


def test_how_documents_were_cut_is_carried_over_and_nothing_else(
    ours: Workspace, theirs: Workspace, tmp_path: Path
) -> None:
    project = ours.projects.get("notes")
    for name, value in {
        "chunk.strategy": "fixed",
        "chunk.fixed_size": "300",
        "chunk.context": "none",
        "keyword.stemming": "false",
        "search.top_n": "1",
        "embed.endpoint_url": "http://127.0.0.1:9/",
    }.items():
        ours.change_setting(name, value, project)
    with ours.open(project) as engine:
        engine.index(rebuild=True)
    export_project(ours, project, tmp_path / "x")
    theirs.change_setting("keyword.language", "german", None)
    imported = import_project(theirs, tmp_path / "x")
    assert imported.counts.embedded == imported.counts.chunks
    settings = theirs.settings(imported.project).settings
    assert (settings.chunk.strategy, settings.chunk.fixed_size) == ("fixed", 300)
    assert settings.chunk.context == "none"
    assert (settings.keyword.stemming, settings.keyword.language) == (False, "english")
    assert settings.search.top_n == 5
    assert settings.embed.endpoint_url == ""
    with opened(theirs) as engine:
        assert engine.search(SearchRequest("gateway")).hits


def test_a_model_that_everybody_can_have_is_carried_over(
    ours: Workspace, theirs: Workspace, tmp_path: Path
) -> None:
    project = ours.projects.get("notes")
    ours.change_setting("embed.model", "bge-small-en-v1.5", project)
    export_project(ours, project, tmp_path / "known")
    ours.change_setting("embed.model", "/home/somebody/model", project)
    export_project(ours, project, tmp_path / "folder")
    one = import_project(theirs, tmp_path / "known").project
    assert theirs.settings(one).settings.embed.model == "BAAI/bge-small-en-v1.5"
    other = import_project(theirs, tmp_path / "folder", name="other").project
    assert theirs.settings(other).settings.embed.model == "dowse-docs-2"


# ── What an export may set ───────────────────────────────────────────────────

_HOSTILE_EMBED = {
    "model": "dowse-docs-2",
    "provider": "endpoint",
    "endpoint_model": "thief",
    "endpoint_url": "http://127.0.0.1:9/v1",
    "api_key_env": "A_SECRET",
    "endpoint_query_prefix": "x",
}


def _asks_for_an_endpoint(head: dict[str, Any]) -> None:
    head["embed"] = _HOSTILE_EMBED


def test_the_table_of_what_an_export_may_set_holds_nothing_that_reads_or_sends() -> None:
    assert MAY_SET.keys() <= known_settings().keys()
    sections = {name.partition(".")[0] for name in MAY_SET}
    assert sections == {"embed", "chunk", "keyword"}
    assert [name for name in MAY_SET if name.startswith("embed.")] == [
        "embed.model",
        "embed.precision",
    ]
    assert all(MAY_SET.values())


def test_an_export_cannot_choose_an_endpoint(theirs: Workspace, sample: Path) -> None:
    done = import_project(theirs, forge(sample, manifest=_asks_for_an_endpoint))
    assert theirs.settings(done.project).settings.embed == EmbedOptions()
    told = done.notices[-1]
    assert "embed.endpoint_url" in told
    assert "embed.api_key_env" in told
    assert "embed.model" not in told


@pytest.mark.parametrize(
    "model",
    ["/etc", "~/model", "./model", "https://127.0.0.1/model", "someone/unknown", "", "\u202e"],
)
def test_a_model_that_is_a_place_is_not_taken(theirs: Workspace, sample: Path, model: str) -> None:
    asked = {"model": model, "precision": "fp32"}
    done = import_project(theirs, forge(sample, manifest=lambda head: head.update(embed=asked)))
    assert theirs.settings(done.project).settings.embed == EmbedOptions()


def test_settings_outside_the_table_are_not_taken_from_the_stamp_either(
    theirs: Workspace, sample: Path
) -> None:
    def edit(head: dict[str, Any]) -> None:
        head["stamp"]["read"] = {"hidden": True}
        head["stamp"]["answer"] = {"endpoint_url": "http://127.0.0.1:9"}
        head["stamp"]["chunk"]["x"] = 1

    done = import_project(theirs, forge(sample, manifest=edit))
    assert theirs.settings(done.project).origins == {}


_WATCHED = """
import sys
seen = []
def watch(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        seen.append(event)
sys.addaudithook(watch)
from dowse._interfaces.cli.main import run
for line in sys.argv[1].split(";"):
    code = run(line.split())
    print(line.split()[0], "ended with", code, "after", seen)
"""


def test_a_hostile_export_opens_no_socket_and_sends_nothing(
    ours: Workspace, exported: Path
) -> None:
    hostile = forge(exported, manifest=_asks_for_an_endpoint)
    where = ours.locations
    environment = {
        **os.environ,
        "DOWSE_CONFIG_DIR": str(where.config),
        "DOWSE_DATA_DIR": str(where.data),
        "DOWSE_CACHE_DIR": str(where.cache),
        "A_SECRET": "hunter2",
        "PIP_INDEX_URL": "",
    }
    # The model is the one that needs weights, which the import must not fetch.
    lines = f"import {hostile} --replace -q;import {hostile} -p second -q;status -p notes -q"
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, lines],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = [line for line in done.stdout.splitlines() if " ended with " in line]
    assert told == [
        "import ended with 0 after []",
        "import ended with 0 after []",
        "status ended with 0 after []",
    ], done.stdout + done.stderr
    for name in ("notes", "second"):
        settings = ours.settings(ours.projects.get(name)).settings
        assert settings.embed == EmbedOptions()
        assert settings.answer.endpoint_url == ""


def test_after_a_hostile_replacement_indexing_asks_no_endpoint(
    ours: Workspace, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(ours, None)  # the model of the settings
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("it asked somebody"))
    import_project(ours, forge(exported, manifest=_asks_for_an_endpoint), replace=True)
    (tmp_path / "notes" / "late.md").write_text("# Private\n", "utf-8")
    with opened(ours) as engine:
        assert engine.settings.embed == EmbedOptions()
        assert engine.index().added == 1


def test_an_import_does_not_ask_the_users_own_endpoint_either(
    theirs: Workspace, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(theirs, None)
    for name, value in {
        "embed.endpoint_url": "http://127.0.0.1:9/v1",
        "embed.endpoint_model": "own",
        "embed.provider": "endpoint",
    }.items():
        theirs.change_setting(name, value, None)
    connected: list[object] = []
    monkeypatch.setattr("socket.socket.connect", lambda *_: connected.append(1))
    with pytest.raises(Refused, match="endpoint_dimensions"):
        import_project(theirs, sample)
    theirs.change_setting("embed.endpoint_dimensions", "8", None)
    done = import_project(theirs, sample)
    assert "Imported without vectors" in done.notices[0]
    assert connected == []


# ── What is refused ──────────────────────────────────────────────────────────


def snapshot(workspace: Workspace) -> dict[str, bytes]:
    data = workspace.locations.data
    found = {str(path): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    return found | {str(path): b"" for path in data.rglob("*") if path.is_dir()}


def refused(workspace: Workspace, file: Path, **how: Any) -> DowseError:
    """Tries to import; whatever the reason is, nothing must have changed."""
    before = snapshot(workspace)
    with pytest.raises(DowseError) as caught:
        import_project(workspace, file, **how)
    assert snapshot(workspace) == before
    assert caught.value.hint
    return caught.value


Edit = Callable[[dict[str, Any]], object]


def forge(
    file: Path,
    *,
    manifest: Edit | None = None,
    document: Edit | None = None,
    chunk: Edit | None = None,
    word: Edit | None = None,
    extra: dict[str, bytes] | None = None,
) -> Path:
    """The same file with its first lines changed, and checksums that fit."""
    edits = {"documents.jsonl": document, "chunks.jsonl": chunk, "vocabulary.jsonl": word}
    with zipfile.ZipFile(file) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    head = json.loads(parts.pop("manifest.json"))
    for name, edit in edits.items():
        if edit is not None:
            first, _, rest = parts[name].partition(b"\n")
            line = json.loads(first)
            edit(line)
            parts[name] = json.dumps(line).encode() + b"\n" + rest
        digest = hashlib.sha256(parts[name]).hexdigest()
        head["parts"][name] = {"bytes": len(parts[name]), "sha256": digest}
    if manifest is not None:
        manifest(head)
    parts |= {"manifest.json": json.dumps(head).encode(), **(extra or {})}
    forged = file.with_suffix(".forged")
    with zipfile.ZipFile(forged, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in parts.items():
            new.writestr(name, data)
    return forged


def test_a_forged_file_that_is_honest_is_fine(theirs: Workspace, sample: Path) -> None:
    assert import_project(theirs, forge(sample)).notices == ()


def test_vectors_that_were_made_with_another_context_are_left_out(
    theirs: Workspace, sample: Path
) -> None:
    theirs.change_setting("chunk.context", "none", None)
    older = forge(sample, manifest=lambda head: head["stamp"]["chunk"].pop("context"))
    done = import_project(theirs, older)
    assert "made with chunk.context = title, your settings say none" in done.notices[0]
    assert done.counts.embedded == 0


def test_a_file_that_is_cut_short_changes_nothing(theirs: Workspace, sample: Path) -> None:
    data = sample.read_bytes()
    for length in (0, 1, 100, len(data) // 2, len(data) - 1000, len(data) - 1):
        sample.write_bytes(data[:length])
        assert isinstance(refused(theirs, sample), (UsageError, Damaged))


def test_a_file_with_a_flipped_bit_changes_nothing_or_is_the_same(
    theirs: Workspace, sample: Path
) -> None:
    data, rng = bytearray(sample.read_bytes()), random.Random(1)
    before = snapshot(theirs)
    for number in range(60):
        # Half of them in the manifest and the directory, at the end of the file.
        place = rng.randrange(len(data)) if number % 2 else -rng.randrange(1, 1500)
        bit = 1 << rng.randrange(8)
        data[place] ^= bit
        sample.write_bytes(data)
        data[place] ^= bit
        try:
            with open_archive(sample) as archive:
                assert archive.manifest.project == "notes"  # the bit was one that nobody reads
        except DowseError:
            assert snapshot(theirs) == before


def test_what_is_no_export_is_distinguished(theirs: Workspace, tmp_path: Path) -> None:
    missing = refused(theirs, tmp_path / "nowhere")
    assert isinstance(missing, NotFound)
    (tmp_path / "text").write_text("not a ZIP file", "utf-8")
    assert "no ZIP file" in refused(theirs, tmp_path / "text").message
    with zipfile.ZipFile(tmp_path / "zip", "w") as file:
        file.writestr("word/document.xml", "<x/>")
    assert "no manifest.json" in refused(theirs, tmp_path / "zip").message
    for content_ in (b"[]", b"{", b"{}", b'{"format": "other", "version": 1}', b"\xff"):
        with zipfile.ZipFile(tmp_path / "zip", "w") as file:
            file.writestr("manifest.json", content_)
        assert isinstance(refused(theirs, tmp_path / "zip"), UsageError)
    assert "cannot be read" in refused(theirs, tmp_path).message  # a folder


def test_a_newer_version_asks_for_an_update(theirs: Workspace, sample: Path) -> None:
    newer = forge(sample, manifest=lambda head: head.update(version=2, parts="otherwise"))
    error = refused(theirs, newer)
    assert isinstance(error, StampMismatch)
    assert error.hint == "Update dowse."
    older = forge(sample, manifest=lambda head: head.update(version=0))
    assert "once more" in refused(theirs, older).hint


def _vector(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, "<f2").tobytes()).decode()


HOSTILE: dict[str, dict[str, Any]] = {
    "a path that leads out": {"document": lambda d: d.update(id="../../etc/passwd")},
    "an absolute path": {"document": lambda d: d.update(id="/etc/passwd")},
    "a path with a zero": {"document": lambda d: d.update(id="a\0.md")},
    "an empty path": {"document": lambda d: d.update(id="")},
    "a text with a zero": {"document": lambda d: d.update(text="a\0b")},
    "a text that is no text": {"document": lambda d: d.update(text="\ud800")},
    "a text that is a number": {"document": lambda d: d.update(text=3)},
    "a size beyond all": {"document": lambda d: d["file"].update(size=2**70)},
    "a size below nothing": {"document": lambda d: d["file"].update(size=-1)},
    "a time beyond all": {"document": lambda d: d["file"].update(mtime_ns=10**30)},
    "a community beyond all": {"document": lambda d: d.update(community=2**64)},
    "a document without a file": {"document": lambda d: d.pop("file")},
    "a chunk of nothing": {"chunk": lambda c: c.update(document="nobody.md")},
    "a vector of wrong length": {"chunk": lambda c: c.update(vector=_vector(1.0))},
    "a vector that is no number": {"chunk": lambda c: c.update(vector=_vector(*[np.nan] * 64))},
    "a vector without end": {"chunk": lambda c: c.update(vector=_vector(*[np.inf] * 64))},
    "a vector without length": {"chunk": lambda c: c.update(vector=_vector(*[0.0] * 64))},
    "a vector that is no base64": {"chunk": lambda c: c.update(vector="§")},
    "a word of wrong length": {"word": lambda w: w.update(vector=_vector(1.0, 0.0))},
    "other dimensions": {"manifest": lambda m: m["stamp"].update(dimensions=65)},
    "endless dimensions": {"manifest": lambda m: m["stamp"].update(dimensions=10**9)},
    "dimensions that are no number": {"manifest": lambda m: m["stamp"].update(dimensions="64")},
    "no model": {"manifest": lambda m: m["stamp"].pop("model")},
    "chunking that is no table": {"manifest": lambda m: m["stamp"].update(chunk=7)},
    "chunks of no size": {"manifest": lambda m: m["stamp"]["chunk"].update(chunk_max=-5)},
    "an unknown language": {"manifest": lambda m: m["stamp"]["keyword"].update(language="x")},
    "a name that leads out": {"manifest": lambda m: m.update(project="../../evil")},
    "a folder that leads out": {"manifest": lambda m: m.update(roots=["", "../../evil"])},
    "a folder with a zero": {"manifest": lambda m: m.update(roots=["\0"])},
    "no folder": {"manifest": lambda m: m.update(roots=[])},
    "a missing part": {"manifest": lambda m: m["parts"].pop("vocabulary.jsonl")},
    "a wrong checksum": {"manifest": lambda m: m["parts"]["chunks.jsonl"].update(sha256="0")},
    "a wrong size": {"manifest": lambda m: m["parts"]["chunks.jsonl"].update(bytes=1)},
    "too little": {"manifest": lambda m: m.pop("stamp")},
    "an endless manifest": {"manifest": lambda m: m.update(project="x" * 2_000_000)},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_changes_nothing(theirs: Workspace, sample: Path, what: str) -> None:
    refused(theirs, forge(sample, **HOSTILE[what]))


def test_foreign_files_in_it_are_refused(theirs: Workspace, sample: Path) -> None:
    for name in ("../../evil.py", "/etc/evil", "more.jsonl"):
        assert isinstance(refused(theirs, forge(sample, extra={name: b"x"})), Refused)


def test_a_document_that_comes_twice_is_refused(theirs: Workspace, sample: Path) -> None:
    with zipfile.ZipFile(sample) as file:
        second = json.loads(file.read("documents.jsonl").splitlines()[1])["id"]
    twice = forge(sample, document=lambda line: line.update(id=second))
    assert isinstance(refused(theirs, twice), Damaged)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(theirs: Workspace, sample: Path) -> None:
    with zipfile.ZipFile(sample, "a") as file:
        file.writestr("manifest.json", "{}")
    assert "same name" in refused(theirs, sample).message


def test_an_encrypted_or_oddly_packed_file_is_refused(theirs: Workspace, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "odd", "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("manifest.json", "{}")
    assert isinstance(refused(theirs, tmp_path / "odd"), Refused)


def test_a_bomb_is_not_unpacked(theirs: Workspace, sample: Path) -> None:
    bomb = sample.with_suffix(".bomb")
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", "{}")
        with file.open("documents.jsonl", "w", force_zip64=True) as part:
            for _ in range(150):
                part.write(b" " * 1_000_000)
    began = time.perf_counter()
    assert "150 MB" in refused(theirs, bomb).message
    assert time.perf_counter() - began < 5


def test_json_without_end_is_refused(theirs: Workspace, sample: Path) -> None:
    nested = b'{"format":"dowse-export","version":1,"stamp":' + b"[" * 100_000
    with zipfile.ZipFile(sample, "w") as file:
        file.writestr("manifest.json", nested)
    refused(theirs, sample)


def test_a_name_that_is_taken_is_refused(theirs: Workspace, sample: Path) -> None:
    import_project(theirs, sample)
    assert "already" in refused(theirs, sample).message
    assert "already" in refused(theirs, sample, name="NOTES").message
    refused(theirs, sample, name="../x")
    import_project(theirs, sample, name="second")


def test_a_project_is_replaced_on_request(ours: Workspace, exported: Path, tmp_path: Path) -> None:
    former = ours.projects.get("notes")
    (tmp_path / "more").mkdir()
    ours.projects.extend(former, [tmp_path / "more"])
    ours.change_setting("search.top_n", "3", former)
    with opened(ours) as reader:  # who has it open sees one or the other
        before = seen(reader.search(SearchRequest("database")))
        (tmp_path / "notes" / "late.md").write_text("# Ceilometer\n", "utf-8")
        reader.index()
        assert reader.get("late.md").title == "Ceilometer"
        imported = import_project(ours, exported, replace=True)
        assert imported.project == former
        with pytest.raises(NotFound):
            reader.get("late.md")
        assert seen(reader.search(SearchRequest("database"))) == before
        assert reader.index().added == 1
        assert reader.get("late.md").title == "Ceilometer"
    assert ours.settings(former).settings.search.top_n == 3
    assert [path.name for path in ours.locations.data.iterdir()] == ["projects"]
    import_project(ours, exported, name="another", replace=True)


def test_a_replacement_that_fails_leaves_the_former(
    ours: Workspace, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (exported.parent / "cut").write_bytes(exported.read_bytes()[:-100])
    refused(ours, exported.parent / "cut", name="notes", replace=True)
    former = ours.projects.get("notes").folder
    with ours.projects.indexes.undisturbed(former), pytest.raises(Locked):
        import_project(ours, exported, replace=True)
    before = snapshot(ours)
    monkeypatch.setattr("dowse._store.sql.writer.SqlWriter.set_communities", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        import_project(ours, exported, replace=True)
    assert snapshot(ours) == before


def test_where_folders_cannot_be_exchanged_at_once_it_is_done_in_steps(
    ours: Workspace, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse._project.archive.import_._exchange", lambda *_: False)
    import_project(ours, exported, replace=True)
    assert [path.name for path in ours.locations.data.iterdir()] == ["projects"]
    with opened(ours) as engine:
        assert engine.check() == []

    move, calls = Path.replace, itertools.count(1)

    def second_fails(path: Path, target: Path) -> Path:
        if path.is_dir() and next(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        return move(path, target)

    monkeypatch.setattr(Path, "replace", second_fails)
    before = snapshot(ours)
    with pytest.raises(OSError, match="Input"):
        import_project(ours, exported, replace=True)
    assert snapshot(ours) == before


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_import_that_is_interrupted_leaves_nothing(
    theirs: Workspace, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(theirs)
    monkeypatch.setattr("dowse._store.sql.writer.SqlWriter.set_communities", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        import_project(theirs, sample)
    assert snapshot(theirs) == before


def _killed_import(data: Path, name: str) -> Path:
    """A folder as a killed import leaves it: its lock is held by nobody."""
    left = data / name
    (left / "project" / "index").mkdir(parents=True)
    (left / "lock").touch()
    return left


def test_what_a_killed_import_left_is_removed_by_the_next_one(
    theirs: Workspace, sample: Path
) -> None:
    data = theirs.locations.data
    killed = _killed_import(data, "import-killed")
    living = _killed_import(data, "import-living")
    with FileLock(living / "lock"):
        import_project(theirs, sample)
        assert not killed.exists()
        assert living.exists()
        assert abandoned(theirs.locations) == []
    assert abandoned(theirs.locations) == [living]


def test_a_folder_without_a_lock_is_kept_while_it_may_be_in_the_making(
    theirs: Workspace, sample: Path
) -> None:
    data = theirs.locations.data
    old, fresh = data / "import-old", data / "import-fresh"
    old.mkdir(parents=True)
    fresh.mkdir()
    os.utime(old, (1, 1))
    import_project(theirs, sample)
    assert not old.exists()
    assert fresh.exists()


def test_an_import_that_is_killed_is_cleared_away(theirs: Workspace, sample: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path;"
        "from dowse._util.files import Locations;"
        "from dowse._project.archive.import_ import staging\n"
        "with staging(Locations(*map(Path, sys.argv[1:]))) as folder:\n"
        "    (folder / 'x').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    where = theirs.locations
    folders = (where.config, where.data, where.cache)
    done = subprocess.run([sys.executable, "-c", script, *folders], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(where.data.glob("import-*"))) == 1
    import_project(theirs, sample)
    assert [path.name for path in where.data.iterdir()] == ["projects"]


def test_a_project_that_a_killed_import_had_moved_aside_comes_back(
    ours: Workspace, exported: Path
) -> None:
    home = ours.projects.get("notes").folder
    killed = _killed_import(ours.locations.data, "import-killed")
    home.rename(killed / "former-notes")
    assert clear_abandoned(ours.locations) == 1
    assert not killed.exists()
    with opened(ours) as engine:
        assert engine.check() == []
    import_project(ours, exported, replace=True)


def test_a_file_is_overwritten_only_on_request(ours: Workspace, tmp_path: Path) -> None:
    project, file = ours.projects.get("notes"), tmp_path / "x"
    file.write_text("precious", "utf-8")
    with pytest.raises(Refused, match="--force"):
        export_project(ours, project, file)
    assert file.read_text("utf-8") == "precious"
    export_project(ours, project, file, overwrite=True)
    assert file.stat().st_size > 1000


def test_an_export_that_fails_leaves_nothing(ours: Workspace, tmp_path: Path) -> None:
    project = ours.projects.get("notes")
    with pytest.raises(UsageError, match="cannot be a file"):
        export_project(ours, project, tmp_path / "no" / "folder")
    (tmp_path / "out").mkdir()

    def stop(event: Event) -> None:
        if event.done > 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_project(ours, project, tmp_path / "out" / "x", announce=stop)
    assert list((tmp_path / "out").iterdir()) == []
    (tmp_path / "new").mkdir()
    empty = ours.projects.add([tmp_path / "new"], "empty")
    with pytest.raises(NotFound, match="not been indexed"):
        export_project(ours, empty, tmp_path / "out" / "x")
    assert list((tmp_path / "out").iterdir()) == []


def test_the_report_names_the_project(theirs: Workspace, sample: Path) -> None:
    done: Imported = import_project(theirs, sample, name="other")
    assert done.project == theirs.projects.get("other")
    assert theirs.select("other", sample.parent) == done.project
