"""Folders of Markdown for tests, made from a seed: the same seed gives the same bytes."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path

from dowse._config.schema import Settings
from dowse._embed.open import rerankers
from dowse._model import silent
from dowse._model.ports import Embedder
from dowse._project.engine import Engine, Parts
from dowse._project.registry import Project
from dowse._project.workspace import OpenStore
from dowse._store.store import Places
from dowse._text.analyzer import TextAnalyzer
from dowse.testing import HashEmbedder

_WORDS = [
    "gateway",
    "station",
    "sensor",
    "radio",
    "battery",
    "antenna",
    "rain",
    "wind",
    "frame",
    "decode",
    "upload",
    "store",
    "query",
    "schema",
    "backup",
    "restore",
    "clock",
    "drift",
    "error",
    "retry",
    "timeout",
    "token",
    "user",
    "session",
    "cache",
    "index",
]


_OPENED: list[Engine] = []


def note(number: int, total: int, rng: random.Random) -> str:
    """One note with frontmatter, headings, links, tags and code."""
    targets = [rng.randrange(total) for _ in range(3)]
    paragraphs = [" ".join(rng.choices(_WORDS, k=rng.randrange(20, 90))) for _ in range(4)]
    return (
        f"---\ntitle: Note {number}\naliases: [n{number}]\ntags: [{rng.choice(_WORDS)}]\n---\n"
        f"# Note {number}\n\n{paragraphs[0]}\n\n"
        f"See [[note-{targets[0]}]] and [next](note-{targets[1]}.md), or [[n{targets[2]}]].\n\n"
        f"## Details\n\n{paragraphs[1]} #{rng.choice(_WORDS)}\n\n"
        f"```python\ndef {rng.choice(_WORDS)}_{number}(value):\n    return value\n```\n\n"
        f"## More\n\n{paragraphs[2]}\n\n{paragraphs[3]}\n"
    )


def write_vault(folder: Path, count: int, seed: int = 1) -> None:
    """Writes notes into a folder."""
    rng = random.Random(seed)
    for number in range(count):
        path = folder / f"part-{number % 7}" / f"note-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(note(number, count, rng), "utf-8")


def open_engine(
    vault: Path,
    index: Path,
    embedder: Embedder | None = None,
    settings: Settings | None = None,
    opened: OpenStore | None = None,
) -> Engine:
    """An engine over a folder, with an embedder that needs no weights."""
    settings = settings or Settings()
    analyzer = TextAnalyzer(settings.keyword)
    project = Project("test", index, (vault,))
    store = opened(analyzer) if opened else Places().store(project.folder, analyzer)
    embedder = embedder or HashEmbedder()
    reranker = rerankers(settings.embed, embedder, index / "cache", silent)
    engine = Engine(project, settings, Parts(store, analyzer, embedder, reranker))
    _OPENED.append(engine)
    return engine


def index_notes(folder: Path, notes: Mapping[str, str], settings: Settings | None = None) -> Engine:
    """An engine over notes that are a year old, so that none of them is recent."""
    year_ago = time.time() - 365 * 86_400
    for name, text in notes.items():
        path = folder / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        os.utime(path, (year_ago, year_ago))
    engine = open_engine(folder / "vault", folder / "index", settings=settings)
    engine.index()
    return engine


def close_engines() -> None:
    """Closes every engine that a test has opened and not closed itself."""
    while _OPENED:
        _OPENED.pop().close()
