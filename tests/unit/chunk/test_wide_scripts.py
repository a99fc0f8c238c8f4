"""Chunks are smaller where a model needs more tokens for a character."""

from __future__ import annotations

from dowse._index.chunk import chunk
from dowse._index.options import ChunkOptions
from dowse._model import Document, Fields

_OPTIONS = ChunkOptions()
_SENTENCES = {
    "english": "Every station sends a frame to the database once in a minute. ",
    "russian": "Каждая станция отправляет кадр в базу данных один раз в минуту. ",
    "japanese": "すべての観測所は毎分一回、データベースにフレームを送信します。",
    "korean": "모든 관측소는 매분 한 번씩 데이터베이스에 프레임을 전송합니다. ",
}


def _sizes(text: str) -> list[int]:
    document = Document("a.md", text, 0, Fields())
    return [one.end - one.start for one in chunk(document, _OPTIONS).chunks]


def test_chinese_japanese_and_korean_are_cut_into_smaller_chunks() -> None:
    for language in ("japanese", "korean"):
        sizes = _sizes(100 * _SENTENCES[language])
        assert max(sizes) <= _OPTIONS.chunk_max / 2
        assert max(sizes) >= _OPTIONS.chunk_min


def test_other_scripts_and_a_few_such_characters_are_cut_as_ever() -> None:
    english = 100 * _SENTENCES["english"]
    assert max(_sizes(100 * _SENTENCES["russian"])) >= _OPTIONS.chunk_goal
    assert _sizes(english.replace("database", "データ", 5)[:-1])[0] >= _OPTIONS.chunk_goal - 100


def test_a_page_that_mixes_scripts_is_in_between() -> None:
    english, japanese = (100 * _SENTENCES[name] for name in ("english", "japanese"))
    mixed = "".join(50 * [_SENTENCES["english"], _SENTENCES["japanese"]])
    assert max(_sizes(japanese)) < max(_sizes(mixed)) < max(_sizes(english))
