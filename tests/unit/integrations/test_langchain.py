"""The retriever of LangChain, against the real package."""

from __future__ import annotations

import asyncio
import json
import pickle

import pytest

from dowse import Dowse

pytest.importorskip("langchain_core")

from dowse.integrations.langchain import DowseRetriever


def test_it_finds_passages_with_their_facts(notes: Dowse) -> None:
    retriever = DowseRetriever(dowse=notes, asking={"n": 1})
    (document,) = retriever.invoke("rain gauge bottle")
    assert "bottle of water" in document.page_content
    facts = document.metadata
    assert facts["document"] == "journal/day.md"
    assert facts["path"] == facts["source"]
    assert facts["path"].endswith("notes/journal/day.md")
    assert (facts["title"], facts["header_path"]) == ("Field day", "Field day > Evening")
    assert (facts["tags"], facts["project"]) == (["rain"], "notes")
    assert facts["modified"] == "2024-05-06T00:00:00+00:00"
    assert facts["first_line"] <= facts["last_line"]
    assert 0 < facts["score"] <= 1
    assert document.id == notes.search("rain gauge bottle", n=1).hits[0].id
    assert json.loads(json.dumps(facts)) == facts


def test_it_can_be_pickled(notes: Dowse) -> None:
    retriever = DowseRetriever(dowse=notes, asking={"n": 1})
    sent = pickle.loads(pickle.dumps(retriever))  # noqa: S301  its own
    assert sent.invoke("rain gauge") == retriever.invoke("rain gauge")
    sent.dowse.close()


def test_a_call_can_say_more_than_the_retriever(notes: Dowse) -> None:
    retriever = DowseRetriever(dowse=notes, asking={"n": 1})
    found = retriever.invoke("database", n=5, path="guides/")
    assert [document.metadata["document"] for document in found] == ["guides/restore.md"]


def test_it_works_asynchronously_and_in_chains(notes: Dowse) -> None:
    retriever = DowseRetriever(dowse=notes)

    async def ask() -> list[str]:
        answers = await asyncio.gather(*(retriever.ainvoke("rain gauge") for _ in range(5)))
        return [found[0].metadata["document"] for found in answers]

    assert asyncio.run(ask()) == ["journal/day.md"] * 5
    chain = retriever | (lambda found: found[0].metadata["title"])
    assert chain.invoke("restore the database") == "Restore a backup"
    assert [found[0].id for found in retriever.batch(["restore", "rain"])]
