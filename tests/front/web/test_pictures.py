"""Pictures over HTTP: only those that a document mentions."""

from __future__ import annotations

import base64
from pathlib import Path

from starlette.testclient import TestClient

from dowse._project.pool import EnginePool
from dowse._search.pipeline import SEARCH_FLOW

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def test_a_picture_is_served_only_to_the_document_that_mentions_it(
    client: TestClient, service: EnginePool, notes: Path
) -> None:
    (notes / "img").mkdir()
    for name in ("the mast.png", "private.png"):
        (notes / "img" / name).write_bytes(PNG)
    (notes / "guides" / "mast.md").write_text("# Mast\n\n![m](../img/the%20mast.png)\n", "utf-8")
    assert service.index(service.select()).ended.wait(20)

    def asked(name: str, document: str = "guides/mast.md") -> tuple[int, dict[str, str]]:
        answer = client.get("/api/v1/picture", params={"reference": document, "name": name})
        return answer.status_code, answer.json()

    status, told = asked("../img/the mast.png")
    assert (status, told["type"]) == (200, "image/png")
    assert base64.b64decode(told["data"]) == PNG
    status, told = asked("../img/private.png")
    assert status == 404
    assert "does not mention" in told["error"]
    assert asked("../img/the mast.png", "lonely.md")[0] == 404
    (notes / "img" / "the mast.png").unlink()
    status, told = asked("../img/the mast.png")
    assert status == 404
    assert told["hint"]


def test_a_document_names_the_programs_that_open_it(client: TestClient, notes: Path) -> None:
    (notes / ".obsidian").mkdir()
    told = client.get("/api/v1/document", params={"reference": "stations"}).json()
    assert told["obsidian"].endswith("stations.md")
    assert told["obsidian"].startswith("obsidian://open?path=")


def test_every_stage_has_plain_words(client: TestClient) -> None:
    told = client.get("/api/v1/settings").json()
    assert list(told["stage_words"]) == [stage.name for stage in SEARCH_FLOW]
    assert all(told["stage_words"].values())
    assert told["stage_words"]["near_dedup"] == "Drops near copies"
    assert told["strategy_words"]["keyword"] == "by words"
