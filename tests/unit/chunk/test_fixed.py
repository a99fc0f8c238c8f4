from __future__ import annotations

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import ChunkedDocument


def cut(text: str, size: int = 1000, overlap: int = 200) -> ChunkedDocument:
    options = ChunkOptions(strategy="fixed", fixed_size=size, fixed_overlap=overlap)
    return chunk(parse("a.md", text), options)


def test_windows_of_a_thousand_characters_that_share_two_hundred() -> None:
    text = "".join(chr(0x4E00 + n % 5000) for n in range(2500))
    cut_up = cut(text)

    assert [cut_up.text_of(each) for each in cut_up.chunks] == [
        text[0:1000],
        text[800:1800],
        text[1600:2500],
    ]
    assert [each.overlap for each in cut_up.chunks] == [0, 200, 200]


def test_no_window_holds_only_what_was_said_before() -> None:
    assert len(cut("x" * 1000).chunks) == 1
    assert len(cut("x" * 1001).chunks) == 2
    assert len(cut("x" * 1800).chunks) == 2
    assert len(cut("x" * 1801).chunks) == 3


def test_each_window_is_its_own_section() -> None:
    cut_up = cut("word " * 1000)

    assert [each.section for each in cut_up.chunks] == [section.id for section in cut_up.sections]
    assert [(each.start, each.end) for each in cut_up.chunks] == [
        (section.start, section.end) for section in cut_up.sections
    ]


def test_the_path_is_that_of_the_new_text() -> None:
    cut_up = cut(f"# A\n\n{'a' * 93}\n# B\n\n{'b' * 100}", size=120, overlap=20)

    assert [each.header_path for each in cut_up.chunks] == [(), ("B",)]
    assert [each.start + each.overlap for each in cut_up.chunks] == [0, 120]


def test_windows_without_a_visible_character_are_left_out() -> None:
    cut_up = cut(f"one{' ' * 5000}two")

    assert [cut_up.text_of(each).strip() for each in cut_up.chunks] == ["one", "two"]


def test_nothing_visible_gives_nothing() -> None:
    assert cut("\n \n").chunks == ()
