from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dowse._interfaces.http.security import Access
from dowse._interfaces.http.server import application
from dowse._project.pool import EnginePool
from dowse._project.workspace import Workspace

HERE = "http://127.0.0.1:7333"


@pytest.fixture
def service(notes: Path, workspace: Workspace) -> Iterator[EnginePool]:
    """Warm engines over the notes."""
    service = EnginePool(workspace, notes)
    yield service
    service.close()


@pytest.fixture
def client(service: EnginePool) -> Iterator[TestClient]:
    """The server, without a watcher."""
    with TestClient(application(service, Access(), watch=False), base_url=HERE) as client:
        yield client
