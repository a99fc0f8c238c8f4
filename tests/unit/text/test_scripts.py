from __future__ import annotations

import pytest

from dowse._index.chunk import overlap_start
from dowse._text.scripts import CJK_CHARACTER, is_unspaced


@pytest.mark.parametrize("character", ["漢", "\U00020000", "\uf900", "々", "か", "カ", "ｶ", "한"])
def test_all_rooms_count_it_as_chinese_japanese_or_korean(character: str) -> None:
    assert CJK_CHARACTER.fullmatch(character)


@pytest.mark.parametrize("character", ["a", "é", "я", "ก", "😀", "。", "Ａ"])
def test_other_letters_and_signs_are_not_counted(character: str) -> None:
    assert not CJK_CHARACTER.search(character)


def test_korean_has_spaces_between_words_and_chinese_and_japanese_have_none() -> None:
    assert all(map(is_unspaced, "漢かカｶ。，"))
    assert not any(map(is_unspaced, "한a я😀"))


def test_an_overlap_does_not_start_inside_a_korean_word() -> None:
    text = "가나다라마바사 아자차카타파하 거너더러머버서"
    assert overlap_start(text, [], 3, len(text)) == text.index("아")


def test_an_overlap_may_start_inside_chinese_text() -> None:
    text = "甲乙丙丁戊己庚辛壬癸"
    assert overlap_start(text, [], 3, len(text)) == 3
