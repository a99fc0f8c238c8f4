"""The retriever of LlamaIndex, against the real package."""

from __future__ import annotations

import asyncio
import json

import pytest

from dowse import Dowse

pytest.importorskip("llama_index.core")

from llama_index.core.schema import MetadataMode

from dowse.integrations.llamaindex import DowseRetriever


def test_it_finds_passages_with_their_facts(notes: Dowse) -> None:
    (found,) = DowseRetriever(notes, asking={"n": 1}).retrieve("rain gauge bottle")
    hit = notes.search("rain gauge bottle", n=1).hits[0]
    assert (found.node.node_id, found.score) == (hit.id, hit.score)
    assert "bottle of water" in found.node.get_content()
    facts = found.node.metadata
    assert facts["document"] == "journal/day.md"
    assert facts["header_path"] == "Field day > Evening"
    assert (facts["tags"], facts["project"]) == (["rain"], "notes")
    assert json.loads(json.dumps(facts)) == facts


def test_a_model_reads_where_a_passage_is_and_no_more(notes: Dowse) -> None:
    (found,) = DowseRetriever(notes, asking={"n": 1}).retrieve("rain gauge bottle")
    read = found.node.get_content(MetadataMode.LLM)
    assert "title: Field day" in read
    assert "header_path: Field day > Evening" in read
    assert "score" not in read
    assert "path: /" not in read


def test_it_works_asynchronously(notes: Dowse) -> None:
    retriever = DowseRetriever(notes, asking={"path": "guides/"})

    async def ask() -> list[str]:
        answers = await asyncio.gather(*(retriever.aretrieve("database") for _ in range(5)))
        return [found[0].node.metadata["document"] for found in answers]

    assert asyncio.run(ask()) == ["guides/restore.md"] * 5
