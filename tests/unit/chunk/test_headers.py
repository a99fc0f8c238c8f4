from __future__ import annotations

import pytest

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import ChunkedDocument, Document, Fields

SENTENCE = "A sentence of exactly fifty characters, this one. "


def cut(text: str, **options: int) -> ChunkedDocument:
    return chunk(parse("a.md", text), ChunkOptions(**options))  # type: ignore[arg-type]


def chunk_texts(cut_up: ChunkedDocument) -> list[str]:
    return [cut_up.text_of(each) for each in cut_up.chunks]


def section_texts(cut_up: ChunkedDocument) -> list[str]:
    return [cut_up.text_of(each) for each in cut_up.sections]


def prose(characters: int) -> str:
    return (SENTENCE * (characters // 50 + 1))[:characters].rstrip() + "\n\n"


@pytest.mark.parametrize("text", ["", "\n", "  \n\t\n", "---\ntitle: x\n---\n", "\u3000\n"])
def test_nothing_visible_gives_nothing(text: str) -> None:
    assert cut(text).sections == ()
    assert cut(text).chunks == ()


def test_a_document_of_one_section_and_one_chunk() -> None:
    cut_up = cut(f"# T\n\n{prose(600)}## A\n\n{prose(300)}")

    assert len(cut_up.sections) == len(cut_up.chunks) == 1
    assert cut_up.chunks[0].section == cut_up.sections[0].id
    assert cut_up.chunks[0].header_path == ("T",)


def test_sections_are_whole_parts_where_these_fit() -> None:
    cut_up = cut(f"# T\n\n## A\n\n{prose(1500)}## B\n\n{prose(1600)}## C\n\n{prose(1700)}")

    assert [text.splitlines()[0] for text in section_texts(cut_up)] == ["# T", "## B", "## C"]
    assert [section.header_path for section in cut_up.sections] == [("T",), ("T", "B"), ("T", "C")]


def test_a_part_with_its_subsections_is_kept_together_before_sizes_are_evened_out() -> None:
    text = f"## A\n\n{prose(1100)}## B\n\n{prose(300)}### B1\n\n{prose(700)}### B2\n\n{prose(700)}"

    assert [text[:4] for text in section_texts(cut(text))] == ["## A", "## B"]


def test_long_text_without_headings_is_cut_evenly_between_paragraphs() -> None:
    cut_up = cut(prose(400) * 20)

    assert all(1500 <= len(text) <= 2000 for text in section_texts(cut_up))
    assert all(text.startswith("A sentence") for text in section_texts(cut_up))


def test_a_title_alone_is_not_a_section() -> None:
    cut_up = cut(f"# T\n\n## A\n\n{prose(5000)}")

    assert all(len(text) > 500 for text in section_texts(cut_up))
    assert section_texts(cut_up)[0].startswith("# T\n\n## A\n\n")


def test_a_heading_is_not_left_behind_even_if_a_paragraph_must_be_cut() -> None:
    cut_up = cut(f"## A\n\n{prose(450)}## B\n\n{prose(1495)}", overlap=0)

    assert not any(text.rstrip().endswith("## B") for text in chunk_texts(cut_up))


@pytest.mark.parametrize(
    "block",
    [
        "```py\n" + "x = 1  # some code\n" * 70 + "```\n\n",
        "| a | b |\n|---|---|\n" + "| one | two |\n" * 90 + "\n",
    ],
    ids=["fence", "table"],
)
def test_fences_and_tables_that_fit_stay_whole(block: str) -> None:
    cut_up = cut(f"# T\n\n{prose(300)}{block}{prose(300)}")

    assert 1200 < len(block) < 1500
    assert sum(block.rstrip() in text for text in chunk_texts(cut_up)) == 1


def test_a_fence_that_fits_only_without_the_blank_lines_after_it_stays_whole() -> None:
    fence = "```\n" + "some code here\n" * 99 + "```"
    cut_up = cut(f"{prose(700)}{fence}{chr(10) * 30}{prose(300)}")

    assert len(fence) < 1500 < len(fence) + 30
    assert any(fence in text for text in chunk_texts(cut_up))


def test_a_fence_that_fits_no_chunk_is_cut_between_lines() -> None:
    code = "".join(f"line number {n} of the code\n" for n in range(200))
    cut_up = cut(f"```\n{code}```\n")

    assert all(text.endswith(("code\n", "```")) for text in chunk_texts(cut_up))
    assert not any(each.overlap for each in cut_up.chunks)


def test_a_line_that_fits_no_chunk_is_cut_between_words() -> None:
    cut_up = cut("word " * 2000)

    assert all(text.split()[0] == "word" for text in chunk_texts(cut_up))
    assert all(len(text) <= 1500 for text in chunk_texts(cut_up))


def test_a_word_that_fits_no_chunk_is_cut_but_not_inside_a_character() -> None:
    cut_up = cut("e\u0301" * 2000 + "👩\u200d👩\u200d👧" * 500)

    for text in chunk_texts(cut_up):
        assert not text.startswith(("\u0301", "\u200d"))
        assert not text.endswith("\u200d")


def test_chunks_repeat_the_end_of_the_one_before() -> None:
    cut_up = cut(prose(450) * 4)

    first, second = cut_up.chunks
    assert 0 < second.overlap <= 100
    repeated = cut_up.text_of(second)[: second.overlap]
    assert cut_up.text_of(first).endswith(repeated)
    assert repeated.startswith("A sentence")


def test_nothing_is_repeated_in_front_of_a_heading() -> None:
    cut_up = cut(f"# T\n\n{prose(850)}## A\n\n{prose(850)}")

    assert [each.overlap for each in cut_up.chunks] == [0, 0]
    assert [each.header_path for each in cut_up.chunks] == [("T",), ("T", "A")]


def test_what_is_repeated_never_comes_from_code() -> None:
    code = "some code\n" * 50
    cut_up = cut(f"{prose(500)}```\n{code}```\n\n{prose(800)}")

    assert [each.overlap for each in cut_up.chunks] == [0, 0]


def test_no_overlap_when_it_is_off() -> None:
    assert {each.overlap for each in cut(prose(450) * 8, overlap=0).chunks} == {0}


def test_long_stretches_of_nothing_are_in_no_chunk() -> None:
    cut_up = cut(f"one\n{chr(10) * 10_000}two\n")

    assert [text.strip() for text in chunk_texts(cut_up)] == ["one", "two"]


def test_headings_of_the_same_name_are_not_the_same_heading() -> None:
    cut_up = cut(f"# T\n\n## Example\n\n{prose(200)}## Example\n\n{prose(200)}")

    assert cut_up.chunks[0].header_path == ("T",)


def test_headings_without_text_are_no_part_of_the_path() -> None:
    cut_up = cut("#\n\n## A\n\ntext\n", chunk_max=12, chunk_goal=8, chunk_min=2, overlap=0)

    assert cut_up.chunks[-1].header_path == ("A",)
    assert cut("##\n\ntext\n").chunks[0].header_path == ()


def test_lines_are_those_of_the_file_and_blank_ones_at_the_end_do_not_count() -> None:
    cut_up = cut("---\ntitle: x\n---\n\n\n# T\n\ntext\n\n\n\n")

    (section,), (each,) = cut_up.sections, cut_up.chunks
    assert (section.first_line, section.last_line) == (6, 8)
    assert (each.first_line, each.last_line) == (6, 8)


def test_a_document_without_blocks_is_cut_as_text() -> None:
    document = Document("a.md", prose(3000), 0, Fields())

    assert all(len(text) <= 1500 for text in chunk_texts(chunk(document, ChunkOptions())))


def test_plain_text() -> None:
    document = parse("a.txt", f"# no heading\n\n{prose(3000)}")

    assert {each.header_path for each in chunk(document, ChunkOptions()).chunks} == {()}
