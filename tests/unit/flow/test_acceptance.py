"""What users were promised, shown with the real model over a vault of ordinary notes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dowse._project.engine import Engine
from dowse._search.request import SearchRequest
from real_model import real_embedder
from vaults import open_engine

_NOTES = {
    "guides/sign-in.md": (
        "---\ntitle: Signing in with a token\nkeywords: [single sign-on, oauth]\n---\n"
        "# Signing in with a token\n\n"
        "The service checks every authentication request against the session store before it "
        "answers.\n\n## Rotating secrets\n\nReplace the shared secret every ninety days. Old "
        "tokens keep working for one hour.\n\n## Locked accounts\n\nAfter five wrong passwords the "
        "account is locked until an administrator opens it again.\n"
    ),
    "guides/backup.md": (
        "---\ntitle: Restoring a backup\nkeywords: [disaster recovery]\ndescription: How to get "
        "files back after a disk has failed.\n---\n# Restoring a backup\n\nStop the service, copy "
        "the newest archive to the data folder and start it again.\n\n## Checking an archive\n\n"
        "Compare the checksum of the archive with the one in the manifest.\n"
    ),
    "reference/api.md": (
        "# API client\n\n```typescript\nexport function getAuthToken(user: string) {}\n```\n\n"
        "The client asks for a token once and keeps it.\n\n## Errors\n\nE0382 means that a moved "
        "value was used. Pass `--no-verify` to skip the hook in /etc/hosts checks of v1.2.3.\n"
    ),
    "reference/python.md": (
        "# Python client\n\n```python\ndef get_auth_token(user):\n    ...\n```\n\nWorks as the "
        "other client does.\n"
    ),
    "notes/languages.md": (
        "# Languages\n\nC++ and C# and .NET and Node.js, and std::vector in between.\n"
    ),
    "notes/letters.md": "# Letters\n\nThe letter C comes after B; a node has children.\n",
    "notes/garden.md": "# Garden\n\nTomatoes want sun, basil water, and neither likes wind.\n",
    "notes/walk.md": "# Walk\n\nFrom the station over the ridge and down to the lake.\n",
} | {
    f"copies/{n}.md": "# Notice\n\nThe office is closed between the holidays; mail is not read.\n"
    for n in range(12)
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("acceptance")
    for name, text in _NOTES.items():
        path = folder / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with open_engine(folder / "vault", folder / "index", real_embedder()) as engine:
        engine.index()
        yield engine


def documents(engine: Engine, query: str, **changes: object) -> list[str]:
    return [hit.document for hit in engine.search(SearchRequest(query, changes=changes)).hits]


@pytest.mark.parametrize(
    ("title", "document"),
    [
        ("Signing in with a token", "guides/sign-in.md"),
        ("Restoring a backup", "guides/backup.md"),
        ("Python client", "reference/python.md"),
        ("garden", "notes/garden.md"),
    ],
)
def test_a_query_that_equals_a_title_ranks_first(engine: Engine, title: str, document: str) -> None:
    assert documents(engine, title)[0] == document


@pytest.mark.parametrize(
    ("header", "document"),
    [
        ("Rotating secrets", "guides/sign-in.md"),
        ("Locked accounts", "guides/sign-in.md"),
        ("Checking an archive", "guides/backup.md"),
    ],
)
def test_a_header_is_among_the_first_three(engine: Engine, header: str, document: str) -> None:
    hits = engine.search(SearchRequest(header)).hits[:3]
    assert any(hit.document == document and header in hit.text for hit in hits)


@pytest.mark.parametrize(
    ("keyword", "document"),
    [("single sign-on", "guides/sign-in.md"), ("disaster recovery", "guides/backup.md")],
)
def test_keywords_of_the_frontmatter_are_among_the_first_five(
    engine: Engine, keyword: str, document: str
) -> None:
    assert document in documents(engine, keyword)
    assert document in documents(engine, keyword, **{"search.mode": "keyword"})


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_auth_finds_authentication(engine: Engine, mode: str) -> None:
    hits = engine.search(
        SearchRequest("auth", changes={"search.mode": mode, "search.top_n": 10})
    ).hits
    assert any("authentication" in hit.text for hit in hits)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "code"])
def test_identifiers_are_found_exactly_and_in_the_other_spelling(engine: Engine, mode: str) -> None:
    exact = documents(engine, "getAuthToken", **{"search.mode": mode})
    other = documents(engine, "get_auth_token", **{"search.mode": mode})
    assert other[0] == "reference/python.md"
    assert set(exact[:2]) == set(other[:2]) == {"reference/api.md", "reference/python.md"}


@pytest.mark.parametrize("term", ["C++", "C#", ".NET", "Node.js", "std::vector"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_technical_terms_are_found_as_written(engine: Engine, term: str, mode: str) -> None:
    assert documents(engine, term, **{"search.mode": mode})[0] == "notes/languages.md"


@pytest.mark.parametrize("term", ["--no-verify", "/etc/hosts", "E0382", "v1.2.3"])
def test_flags_paths_codes_and_versions_are_found_as_written(engine: Engine, term: str) -> None:
    hit = engine.search(SearchRequest(term)).hits[0]
    assert hit.document == "reference/api.md"
    assert term in hit.text


def test_the_first_five_come_from_three_documents_when_limited(engine: Engine) -> None:
    changes = {"diversity.max_chunks_per_doc": 2, "threshold.min_confidence": 0.0}
    assert len(set(documents(engine, "token secret account archive", **changes))) >= 3


def test_exact_duplicates_are_gone_before_meanings_are_compared(engine: Engine) -> None:
    changes = {"search.top_n": 30, "semantic_dedup.enabled": True, "near_dedup.enabled": False}
    response = engine.search(SearchRequest("office closed holidays", changes=changes))
    copies = [hit for hit in response.hits if hit.document.startswith("copies/")]
    dropped = response.counts["threshold"] - response.counts["exact_dedup"]
    assert len(copies) == 1
    assert dropped >= 0.9 * 11
    assert response.counts["semantic_dedup"] >= response.counts["exact_dedup"] - 11 * 0.1


def test_a_question_is_answered_though_no_word_of_it_is_there(engine: Engine) -> None:
    assert documents(engine, "who may unlock my user")[0] == "guides/sign-in.md"


def test_nonsense_gets_a_low_score(engine: Engine) -> None:
    sense = engine.search(SearchRequest("restore a backup after a disk failure")).hits[0].score
    for nonsense in ("purple monkey dishwasher", "qwertz asdfgh yxcvbn", "quarterly tax in Peru"):
        response = engine.search(SearchRequest(nonsense))
        assert (response.hits or response.nearest)[0].score < 0.1
        assert sense > 0.3


def test_nonsense_is_marked_and_still_shows_what_is_nearest(engine: Engine) -> None:
    poor = engine.search(SearchRequest("qwertz asdfgh yxcvbn"))
    assert poor.no_good_match
    assert {(hit.match, hit.reason) for hit in poor.hits} == {
        ("weak", "close in meaning, no word in common")
    }
    asked = engine.search(
        SearchRequest("qwertz asdfgh yxcvbn", changes={"threshold.min_confidence": 0.0})
    )
    assert [hit.id for hit in asked.hits] == [hit.id for hit in poor.hits]
    assert engine.answer(SearchRequest("qwertz asdfgh yxcvbn")).answer is None
    assert not asked.no_good_match  # the user's own least confidence decides instead


def test_a_question_that_was_meant_for_other_documents_is_marked(engine: Engine) -> None:
    for foreign in (
        "how do I merge a pull request on GitHub",
        "docker compose volumes",
        "kubectl apply a deployment",
    ):
        assert engine.search(SearchRequest(foreign)).no_good_match
        assert engine.answer(SearchRequest(foreign)).answer is None


def test_a_query_in_a_script_that_neither_index_nor_model_has_is_marked(engine: Engine) -> None:
    for query in ("აღვადგინო სარეზერვო ასლი", "վերականգնել պահուստային պատճենը"):
        poor = engine.search(SearchRequest(query))
        assert poor.no_good_match
        assert {(hit.match, hit.reason) for hit in poor.hits} == {("weak", "no word in common")}
        assert poor.notices[-1].endswith(", and the embedding model cannot read this script.")


def test_a_word_that_was_put_in_for_a_misspelt_one_is_not_familiar(engine: Engine) -> None:
    words = {"search.mode": "keyword"}
    assert engine.search(SearchRequest("purple passwords dishwasher", changes=words)).hits
    swapped = engine.search(SearchRequest("purple passwordz dishwasher", changes=words))
    assert "passwords" in swapped.notices[0]
    assert swapped.no_good_match


def test_words_of_documents_that_a_filter_excludes_are_not_familiar(engine: Engine) -> None:
    assert not engine.search(SearchRequest("who opens locked accounts")).no_good_match
    assert engine.search(SearchRequest("who opens locked accounts path:notes")).no_good_match


def test_every_mode_says_how_well_a_result_fits_in_the_same_words(engine: Engine) -> None:
    for mode in ("hybrid", "semantic", "keyword"):
        found = engine.search(SearchRequest("Restoring a backup", changes={"search.mode": mode}))
        assert (found.hits[0].match, found.hits[0].reason) == ("strong", "exact title")
        words = engine.search(
            SearchRequest("compare checksum archive manifest", changes={"search.mode": mode})
        )
        assert (words.hits[0].match, words.hits[0].reason) == ("strong", "all 4 words found")
        assert {hit.match for hit in words.hits[1:]} <= {"weak"}
        assert not words.no_good_match
    listed = engine.search(SearchRequest("path:notes"))
    assert {(hit.match, hit.reason) for hit in listed.hits} == {("strong", "meets the filters")}
    heading = engine.search(SearchRequest("rotating secrets")).hits[0]
    assert (heading.match, heading.reason) == ("strong", "exact heading")


def test_the_confidence_says_where_it_comes_from(engine: Engine) -> None:
    assert "fitted" in engine.search(SearchRequest("backup")).calibration
    assert (
        "sigmoid"
        in engine.search(
            SearchRequest("backup", changes={"calibrate.method": "sigmoid"})
        ).calibration
    )
    for mode in ("keyword", "semantic"):
        assert (
            "fitted"
            in engine.search(SearchRequest("backup", changes={"search.mode": mode})).calibration
        )
    for other in ({"search.mode": "hyde"}, {"code.enabled": True}, {"graph.enabled": True}):
        assert "sigmoid" in engine.search(SearchRequest("backup", changes=other)).calibration
    assert (
        "as they are"
        in engine.search(SearchRequest("x", changes={"calibrate.enabled": False})).calibration
    )


def test_an_answer_cites_what_it_says(engine: Engine) -> None:
    response = engine.answer(SearchRequest("How often should the shared secret be replaced?"))
    assert response.answer is not None
    assert "every ninety days" in response.answer.text
    cited = response.hits[response.answer.sources[0] - 1]
    assert cited.document == "guides/sign-in.md"
    assert response.answer.written_by == ""
    assert (
        engine.answer(SearchRequest("zzzz qqqq", changes={"search.mode": "keyword"})).answer is None
    )


def test_token_vectors_rerank_without_further_weights(engine: Engine) -> None:
    all_of_them = {"search.top_n": 8, "threshold.min_confidence": 0.0}
    plain = engine.search(SearchRequest("wrong passwords", changes=all_of_them))
    changes = {**all_of_them, "rerank.enabled": True, "rerank.top_n": 4, "rerank.mix": 1.0}
    reranked = engine.search(SearchRequest("wrong passwords", changes=changes))
    assert "rerank" in reranked.seconds
    assert "Locked accounts" in reranked.hits[0].text
    assert {hit.id for hit in reranked.hits[:4]} == {hit.id for hit in plain.hits[:4]}
    steps = [
        step for hit in reranked.hits[:4] for step in hit.trace.steps if step.stage == "rerank"
    ]
    assert len(steps) == 4
    scores = [hit.score for hit in reranked.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
