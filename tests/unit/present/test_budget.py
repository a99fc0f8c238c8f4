"""Token budgets; the estimate is checked against tokenizers of two models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dowse._embed.models import MINILM
from dowse._embed.open import open_model
from dowse._model import Hit, Response
from dowse._search.formats import count_tokens, fit, tokens_of_texts, within_texts
from real_model import with_minilm

if TYPE_CHECKING:
    from unit.conftest import MakeHit

_ENGLISH = """Reciprocal rank fusion combines several rankings without looking at their scores, so
that a keyword engine and a vector index can be merged even though one gives BM25 scores and the
other cosines. It is robust, needs no training, and its only parameter is usually left at sixty.
- **Thresholds** drop what nobody should see; see [the guide](docs/guide.md#thresholds).
- Duplicates (exact, near, semantic) are merged afterwards, 0.85 being the default cosine."""
_CODE = '''def getUserById(self, user_id: int, *, timeout_ms: float = 1500.0) -> "User | None":
    """Looks a user up."""
    try:
        row = self._db.execute("SELECT * FROM users WHERE id = ?", (user_id,)).fetchone()
    except sqlite3.OperationalError as error:
        raise HTTPResponseError(f"users: {error!r}", status=503) from error
    return User(**row) if row else None
'''
_CHINESE = """向量数据库把文本转换为向量，并用余弦相似度查找最接近的段落。关键词检索则依靠倒排索引，
二者结合可以得到更好的结果。配置文件 dowse.toml 中的 top_n 决定返回多少条结果。"""
_JAPANESE = """検索エンジンは全文検索とベクトル検索を組み合わせることで、質問に最も関連する文書を
見つけ出します。インデックスは差分だけを更新するので、とても速いです。"""
_KOREAN = (
    "검색 엔진은 전문 검색과 벡터 검색을 결합하여 질문과 가장 관련성이 높은 문서를 찾아냅니다."
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer  # noqa: PLC0415  (only this fixture needs it)

    model = open_model(MINILM, with_minilm(), fetch=False)
    found = Tokenizer.from_buffer(model.tokenizer())
    found.no_truncation()
    found.no_padding()
    return found


@pytest.fixture(scope="module")
def language_model(monkeypatch_module: pytest.MonkeyPatch) -> Any:
    """The tokenizer of language models, whose file another package brings along."""
    from llama_index import core  # noqa: PLC0415  (only this fixture needs them)

    kept = Path(core.__file__).parent / "_static" / "tiktoken_cache"
    monkeypatch_module.setenv("TIKTOKEN_CACHE_DIR", str(kept))
    import tiktoken  # noqa: PLC0415  as above

    return tiktoken.get_encoding("cl100k_base")


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


_GERMAN = (
    "Die Datenbank wird jede Nacht gesichert, damit nach einem Ausfall nichts verloren geht; wer"
    " eine Wiederherstellung übt, findet Fehler früher."
)
_POLISH = (
    "Baza danych jest zapisywana każdej nocy, aby po awarii nic nie zostało utracone. Kto ćwiczy"
    " przywracanie, wcześniej znajduje błędy."
)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (_ENGLISH, 1.1),
        (json.dumps({"document": "guides/restore.md", "first_line": 12, "text": _ENGLISH}), 1.1),
        (_CODE, 1.5),
        (_GERMAN, 1.5),
        (_POLISH, 1.2),
        (_CHINESE, 1.5),
        (_JAPANESE, 1.5),
    ],
)
def test_the_estimate_is_near_what_a_language_model_takes(
    language_model: Any, text: str, most: float
) -> None:
    real = len(language_model.encode(text))
    assert real <= count_tokens(text) <= most * real


@pytest.mark.parametrize("text", [_ENGLISH, _CODE, _CHINESE, _JAPANESE, _KOREAN])
def test_the_estimate_is_too_high_but_not_by_far(tokenizer: Any, text: str) -> None:
    real = len(tokenizer.encode(text, add_special_tokens=False).ids)
    assert real <= count_tokens(text) <= 1.6 * real


def test_nothing_takes_no_tokens() -> None:
    assert count_tokens("") == 0
    assert count_tokens("word") == 1


def test_texts_are_whole_while_they_fit() -> None:
    texts = ["one two three", "four five six"]
    assert fit(texts, 100) == texts
    assert fit(texts, sum(map(count_tokens, texts))) == texts


def test_the_first_that_does_not_fit_is_cut_at_a_sentence_and_the_rest_is_dropped() -> None:
    long = "This sentence stands here. " * 20
    kept = fit(["short", long, "tiny"], 60)
    assert kept[0] == "short"
    assert kept[1] is not None
    assert kept[1].endswith("stands here. …")
    assert kept[2] is None


def test_a_line_end_will_do_where_no_sentence_ends() -> None:
    kept = fit(["- item without a stop\n" * 30], 50)[0]
    assert kept is not None
    assert kept.endswith("a stop …")


def test_what_is_around_a_text_counts() -> None:
    assert fit(["one", "two"], 12, [5, 5]) == ["one", "two"]
    assert fit(["one", "two"], 11, [5, 5]) == ["one", None]
    assert fit(["one", "two"], 11, [5, 4]) == ["one", "two"]
    assert fit(["one"], 3, [5]) == [None]


@pytest.mark.parametrize("budget", [0, -5])
def test_no_budget_keeps_nothing(budget: int) -> None:
    assert fit(["some text"], budget) == [None]


def test_text_without_blanks_is_cut() -> None:
    kept = fit(["検索エンジンは速い。" * 100], 100)[0]
    assert kept is not None
    assert kept.endswith("速い。 …")


_TEXTS = st.text(st.sampled_from("ab. \n検索。1_{}") | st.characters(), max_size=400)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(_TEXTS, max_size=5), st.integers(-5, 300), st.integers(0, 20))
def test_the_budget_is_never_exceeded(texts: list[str], budget: int, fixed: int) -> None:
    kept = fit(texts, budget, [fixed] * len(texts))
    assert len(kept) == len(texts)
    spent = sum(count_tokens(text) + fixed for text in kept if text is not None)
    assert spent <= max(budget, 0)
    whole = [text == given for text, given in zip(kept, texts, strict=True)]
    assert sum(text is not None for text in kept) <= whole.count(True) + 1


def _long_hit(make_hit: MakeHit, line: int) -> Hit:
    text = "\n".join(f"Line {number} of the text is here." for number in range(3, 40))
    return replace(make_hit(text), line=line, first_line=3, last_line=39)


def test_a_text_that_is_cut_still_has_the_match(make_hit: MakeHit) -> None:
    for line in (3, 20, 38):
        found = Response(query="q", hits=(_long_hit(make_hit, line),))
        [hit] = within_texts(found, 60).hits
        assert f"Line {line} of the text" in hit.text
        assert hit.text.startswith(f"Line {hit.first_line} ")
        assert 0.8 * 60 <= count_tokens(hit.text) <= 60


def test_what_is_left_of_a_budget_is_little(make_hit: MakeHit) -> None:
    hits = tuple(_long_hit(make_hit, 3) for _ in range(4))
    found = Response(query="q", hits=hits)
    for budget in (200, 500, 900):
        assert 0.9 * budget <= tokens_of_texts(within_texts(found, budget)) <= budget
