"""`dowse explain`: why a document is among the results, or is not."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from command_line import Dowse, Result
from dowse._model import ChunkOutcome, Explanation, Step, StrategyRank
from dowse._search.hits import why


def _why(dowse: Dowse, *line: object) -> str:
    result = dowse("explain", *line)
    assert result.code == 0, result.err
    return result.out.split("\n")[1]


@pytest.mark.usefixtures("notes")
def test_a_result_is_named_by_its_place(dowse: Dowse) -> None:
    found = [hit["document"] for hit in dowse("search", "station frame", "--json").json["hits"]]
    for place, document in enumerate(dict.fromkeys(found), start=1):
        assert _why(dowse, "station frame", "--doc", document).startswith("It is result ")
        if place == 1:
            told = _why(dowse, "station frame", "--doc", document)
            assert told == "It is result 1: 2nd by meaning, 1st by words."


@pytest.mark.usefixtures("notes")
def test_a_condition_that_keeps_it_out_is_named(dowse: Dowse) -> None:
    filtered = _why(dowse, "lighthouse", "--tag", "database", "--doc", "lonely")
    assert filtered == "The condition --tag database keeps it out."
    asked = _why(dowse, "lighthouse tag:database -nobody", "--doc", "lonely")
    assert asked == "The conditions tag:database and -nobody keep it out."


@pytest.mark.usefixtures("notes")
def test_the_stage_that_dropped_it_is_named(dowse: Dowse) -> None:
    query = ["stop the writer", "--mode", "keyword"]
    texts = [hit["document"] for hit in dowse("search", *query, "--json").json["hits"]]
    other = next(n for n in ("guides/copy.md", "guides/restore.md") if n not in texts[:1])
    told = _why(dowse, *query, "--min-confidence", "1", "--doc", other)
    assert "was left out: confidence " in told
    assert told.endswith("(threshold).")
    cut = dowse("explain", *query, "-n", "1", "--doc", other).out
    assert "and only the first result is shown." in " ".join(cut.split())
    assert "dropped by top_n" in cut


@pytest.mark.usefixtures("notes")
def test_no_strategy_found_it(dowse: Dowse) -> None:
    told = _why(dowse, "lighthouse", "--mode", "keyword", "--doc", "day.txt")
    assert told == "It is not among the first 50 of any ranking: not found by words."


@pytest.mark.usefixtures("notes")
def test_the_best_chunks_are_shown_and_all_on_demand(dowse: Dowse) -> None:
    line = ["explain", "barometer word3x1", "--doc", "long"]
    some, all_of_it = dowse(*line).out, dowse(*line, "--all").out
    chunks = len(dowse(*line, "--json").json["chunks"])
    assert chunks > 5
    assert some.count("\nline") == 5
    assert all_of_it.count("\nline") == chunks
    assert f"{chunks - 5} chunk" in some
    assert "semantic" in some
    assert "keyword" in some


@pytest.mark.usefixtures("notes")
def test_the_json_shape(dowse: Dowse) -> None:
    shape = dowse("explain", "lighthouse", "--doc", "lonely", "--json").json
    assert (shape["document"], shape["found"], shape["why"]) == (
        "lonely.md",
        True,
        "It is result 1: 6th by meaning, 1st by words.",
    )
    assert shape["failed"] == []
    chunk = shape["chunks"][0]
    assert chunk["rank"] == 1
    assert {one["strategy"] for one in chunk["standing"]} == {"semantic", "keyword"}
    assert {one["strategy"] for one in chunk["places"]} == {"semantic", "keyword"}
    assert [step["stage"] for step in chunk["steps"]][-1] == "calibrate"
    assert dowse("explain", "lighthouse", "--doc", "day.txt", "--mode", "keyword", "--json").json[
        "found"
    ] is (False)


@pytest.mark.usefixtures("indexed")
def test_what_could_not_rank_is_not_accused(dowse: Dowse) -> None:
    told = _why(dowse, "bottle", "--doc", "Home")
    assert told == "It is not among the first 50 of any ranking: not found by words."


@pytest.mark.usefixtures("notes")
def test_wrong_calls(dowse: Dowse) -> None:
    def fails(*line: str) -> Result:
        result = dowse("explain", *line)
        assert result.code == 2
        return result

    assert "--doc" in fails("x").err
    assert "There is no document" in fails("x", "--doc", "nothing-like-it").err
    assert "The query is empty" in fails(" ", "--doc", "lonely").err


def _explanation(*chunks: ChunkOutcome, failed: tuple[str, ...] = ()) -> Explanation:
    return Explanation(
        query="q", document="a.md", title="A", top_k=10, top_n=5, failed=failed, chunks=chunks
    )


def _outcome(
    *standing: StrategyRank,
    rank: int | None = None,
    steps: tuple[Step, ...] = (),
    lines: tuple[int, int],
) -> ChunkOutcome:
    return ChunkOutcome("0" * 16, (), *lines, rank, None, standing, steps=steps)


@pytest.mark.parametrize(
    ("explanation", "sentence"),
    [
        (_explanation(), "It has no text that could be found."),
        (_explanation(_outcome(rank=3, lines=(1, 2))), "It is result 3."),
        (
            _explanation(_outcome(lines=(1, 2)), failed=("tag:x",)),
            "The condition tag:x keeps it out.",
        ),
        (
            _explanation(
                _outcome(
                    steps=(Step("near_dedup", 1, 1, "nearly the same text as b.md:3"),),
                    lines=(10, 24),
                )
            ),
            (
                "Its best chunk (lines 10–24) was left out: nearly the same text as b.md:3"
                " (near_dedup)."
            ),
        ),
        (
            _explanation(_outcome(steps=(Step("top_n", 1, 1, "place 7 of 9"),), lines=(4, 4))),
            "Its best chunk (line 4) came out at place 7 of 9, and only the first 5 are shown.",
        ),
        (
            _explanation(
                _outcome(StrategyRank("semantic", 112, 0.2), lines=(1, 2)),
                _outcome(StrategyRank("semantic", 57, 0.311), lines=(3, 4)),
            ),
            ("It is not among the first 10 of any ranking: 57th by meaning, not found by words."),
        ),
        (
            _explanation(
                _outcome(
                    StrategyRank("semantic", 1021, 0.1),
                    StrategyRank("keyword", 113, 2.0),
                    lines=(1, 2),
                )
            ),
            ("It is not among the first 10 of any ranking: 1,021st by meaning, 113th by words."),
        ),
        (
            _explanation(_outcome(StrategyRank("semantic", 2, 0.5), lines=(1, 2))),
            "It is 2nd by meaning, but no chunk of it fulfils all conditions at once.",
        ),
    ],
)
def test_the_sentence(explanation: Explanation, sentence: str) -> None:
    assert why(explanation, ("semantic", "keyword")) == sentence


@pytest.mark.usefixtures("notes")
def test_nothing_is_wider_than_the_terminal(dowse: Dowse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse._interfaces.cli.draw.Screen.width", 80)
    for line in (
        ["explain", "barometer word3x1", "--doc", "long", "--all"],
        ["explain", "restore database station frame", "--doc", "copy", "--preset", "seed-a"],
        ["search", "restore database", "--explain", "--rerank", "--full"],
        ["search", "restore", "--min-confidence", "1"],
        ["answer", "when must the writer be stopped"],
        ["answer", "zzz"],
        ["related", "restore"],
    ):
        result = dowse(*line)
        assert result.out + result.err
        assert max(cell_len(one) for one in (result.out + result.err).split("\n")) <= 80
