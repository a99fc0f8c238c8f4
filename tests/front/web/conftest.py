from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dowse.front.web.security import Door
from dowse.front.web.server import application
from dowse.projects.workspace import Workspace
from dowse.service import Service

HERE = "http://127.0.0.1:7333"


@pytest.fixture
def service(notes: Path, workspace: Workspace) -> Iterator[Service]:
    """Warm engines over the notes."""
    service = Service(workspace, notes)
    yield service
    service.close()


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    """The server, without a watcher."""
    with TestClient(application(service, Door(), watch=False), base_url=HERE) as client:
        yield client
