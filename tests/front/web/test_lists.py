"""The routes that list documents, tags, folders and fields, with counts."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from command_line import Dowse

API = "/api/v1"


def _told(client: TestClient, route: str, **parameters: Any) -> Any:
    answer = client.get(f"{API}{route}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_documents_are_listed_in_parts(client: TestClient, dowse: Dowse) -> None:
    first = _told(client, "/documents", limit=4)
    second = _told(client, "/documents", limit=4, offset=4)
    assert (first["total"], second["total"]) == (6, 6)
    assert first["items"] + second["items"] == dowse("ls", "--json").json["documents"]
    linked = _told(client, "/documents", sort="links", limit=1)["items"][0]
    assert (linked["id"], linked["links_in"]) == ("reference/stations.md", 2)
    recent = _told(client, "/documents", sort="modified", since="2024", path="guides/")
    assert [one["id"] for one in recent["items"]] == ["guides/restore.md", "guides/copy.md"]
    assert recent == dowse("recent", "--since", "2024", "--path", "guides/", "--json").json


def test_tags_folders_and_fields_are_those_of_the_command_line(
    client: TestClient, dowse: Dowse
) -> None:
    for path in ("tags", "folders", "fields"):
        assert _told(client, f"/{path}") == dowse(path, "--json").json
    assert _told(client, "/tags", limit=1, offset=1) == {
        "project": "notes",
        "items": [{"name": "ops", "documents": 1}],
        "total": 4,
    }
    field = _told(client, "/fields", name="Category", values=1)["items"]
    assert [(one["name"], one["different"], len(one["values"])) for one in field] == [
        ("category", 2, 1)
    ]
    assert _told(client, "/values", filter="source")["items"] == [
        {"name": "md", "documents": 5},
        {"name": "txt", "documents": 1},
    ]


def test_what_cannot_be_listed_is_refused_in_words(client: TestClient) -> None:
    refused = client.get(f"{API}/documents", params={"sort": "size"})
    assert refused.status_code == 400
    assert refused.json()["hint"] == "It must be one of: path, modified, links."
    assert client.get(f"{API}/documents", params={"since": "soon"}).status_code == 422
    assert client.get(f"{API}/values").status_code == 400
