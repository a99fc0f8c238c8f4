"""Qdrant's engine behind its HTTP API, for tests, benchmarks and the demo: one shard, no cluster.

The engine is `qdrant-edge-py`; this answers the requests that dowse's client sends. What is stored
is gone when the server ends.

python tools/qdrant_edge_server.py --port 6333
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import qdrant_edge as edge

MOST = 32 * 1024 * 1024
"""Bytes of a request that Qdrant takes."""


class QdrantEdge:
    """A server in a thread of this process."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[tuple[str, str, int]] = []  # method, path with its query, bytes
        self.aliases: dict[str, str] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="dowse-qdrant-"))
        self._shards: dict[str, Any] = {}
        self._turn = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self.thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        """Its address as the setting `store.search` has it."""
        return f"qdrant://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stops the server, and removes what it held."""
        self._server.shutdown()
        self._server.server_close()
        for shard in self._shards.values():
            shard.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _answer(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                outer.requests.append((self.command, self.path, size))
                code, result = 200, None
                try:
                    if size > MOST:
                        self.close_connection = True
                        raise ValueError("Payload Too Large")
                    body = json.loads(self.rfile.read(size)) if size else {}
                    path = urlsplit(self.path).path.strip("/").split("/")
                    with outer._turn:
                        result = outer._result(self.command, path, body)
                except KeyError as error:
                    code, result = 404, f"Not found: {error}"
                except Exception as error:  # noqa: BLE001  (it is what the client is told)
                    code, result = 413 if size > MOST else 400, f"{type(error).__name__}: {error}"
                said = {"result": result, "status": "ok", "time": 0.0}
                if code != 200:
                    said = {"status": {"error": result}, "time": 0.0}
                sent = json.dumps(said).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _result(self, method: str, path: list[str], body: Any) -> Any:
        what, rest = f"{method} {path[0]}", path[1:]
        if what == "GET collections":
            return {"collections": [{"name": name} for name in self._shards]}
        if what == "POST collections" and rest == ["aliases"]:
            return self._switch(body["actions"])
        if what == "PUT collections" and len(rest) == 1:
            return self._create(rest[0], body)
        if what == "DELETE collections":
            return self._drop(rest[0])
        if what == "GET healthz":
            return "healthz check passed"
        name, *of_points = rest
        answer = _OF_POINTS[f"{method} {'/'.join(of_points)}"]
        return answer(self._shards[self.aliases.get(name, name)], body)

    def _switch(self, actions: list[dict[str, Any]]) -> bool:
        for action in actions:
            if gone := action.get("delete_alias"):
                self.aliases.pop(gone["alias_name"], None)
            if made := action.get("create_alias"):
                if made["collection_name"] not in self._shards:
                    raise KeyError(made["collection_name"])
                self.aliases[made["alias_name"]] = made["collection_name"]
        return True

    def _drop(self, name: str) -> bool:
        self._shards.pop(name).close()
        shutil.rmtree(self._folder / name)
        self.aliases = {one: to for one, to in self.aliases.items() if to != name}
        return True

    def _create(self, name: str, body: Any) -> bool:
        config = edge.EdgeConfig(
            vectors={
                one: edge.EdgeVectorParams(params["size"], edge.Distance.Dot)
                for one, params in body["vectors"].items()
            },
            sparse_vectors={one: edge.EdgeSparseVectorParams() for one in body["sparse_vectors"]},
        )
        (self._folder / name).mkdir()
        self._shards[name] = edge.EdgeShard.create(str(self._folder / name), config)
        return True


_UPDATED = {"operation_id": 0, "status": "completed"}


def _index(shard: Any, body: Any) -> Any:
    schema = edge.IntegerIndexParams(lookup=True, range=False)
    shard.update(edge.UpdateOperation.create_field_index(body["field_name"], schema))
    return _UPDATED


def _upsert(shard: Any, body: Any) -> Any:
    points = []
    for one in body["points"]:
        vectors = {name: _vector(value) for name, value in one["vector"].items()}
        points.append(edge.Point(one["id"], vectors, one.get("payload")))
    shard.update(edge.UpdateOperation.upsert_points(points))
    return _UPDATED


def _delete(shard: Any, body: Any) -> Any:
    shard.update(edge.UpdateOperation.delete_points(body["points"]))
    return _UPDATED


def _retrieve(shard: Any, body: Any) -> Any:
    kept = shard.retrieve(body["ids"], with_payload=True, with_vector=True)
    return [_record(one, body["with_vector"]) for one in kept]


def _scroll(shard: Any, body: Any) -> Any:
    page = edge.ScrollRequest(
        body.get("offset"), body["limit"], with_payload=False, with_vector=False
    )
    found, place = shard.scroll(page)
    return {"points": [{"id": one.id} for one in found], "next_page_offset": place}


def _query(shard: Any, body: Any) -> Any:
    asked = body["query"]
    asked = asked.get("nearest", asked) if isinstance(asked, dict) else asked
    query = edge.QueryRequest(
        body["limit"],
        query=edge.Query.Nearest(_vector(asked), body["using"]),
        filter=_filter(body.get("filter") or {}),
        with_payload=False,
        with_vector=False,
    )
    found = shard.query(query)
    return {"points": [{"id": one.id, "version": 0, "score": one.score} for one in found]}


_OF_POINTS = {
    "PUT index": _index,
    "PUT points": _upsert,
    "POST points/delete": _delete,
    "POST points": _retrieve,
    "POST points/scroll": _scroll,
    "POST points/query": _query,
}


def _vector(one: Any) -> Any:
    return edge.SparseVector(one["indices"], one["values"]) if isinstance(one, dict) else one


def _record(one: Any, wanted: list[str]) -> dict[str, Any]:
    vectors = {
        name: {"indices": list(vector.indices), "values": list(vector.values)}
        for name, vector in one.vector.items()
        if name in wanted
    }
    return {"id": one.id, "payload": one.payload, "vector": vectors}


def _filter(written: dict[str, Any]) -> Any:
    def conditions(side: str) -> list[Any]:
        return [
            edge.HasIdCondition(set(one["has_id"]))
            if "has_id" in one
            else edge.FieldCondition(one["key"], match=edge.MatchAny(one["match"]["any"]))
            for one in written.get(side) or ()
        ]

    return edge.Filter(must=conditions("must"), must_not=conditions("must_not"))


def main() -> None:
    """Runs the server until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=6333)
    server = QdrantEdge(parser.parse_args().port)
    print(server.url, flush=True)  # what is started next needs it
    try:
        server.thread.join()
    finally:
        server.close()


if __name__ == "__main__":
    main()
