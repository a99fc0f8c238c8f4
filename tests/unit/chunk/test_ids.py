from __future__ import annotations

import re

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import ChunkedDocument

PARAGRAPH = "Some words that make up a paragraph of the text. " * 35


def cut(text: str, document_id: str = "a.md") -> ChunkedDocument:
    return chunk(parse(document_id, text), ChunkOptions())


def part(name: str) -> str:
    return f"## {name}\n\n{name} {PARAGRAPH}\n\n"


def test_ids_are_sixteen_hex_digits_and_differ() -> None:
    cut_up = cut("".join(map(part, "ABCDEF")))

    ids = [section.id for section in cut_up.sections] + [each.id for each in cut_up.chunks]
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in ids)
    assert len(set(ids)) == len(ids)


def test_equal_parts_are_distinguished_by_counting() -> None:
    cut_up = cut(part("A") * 4)

    assert len({cut_up.text_of(each).rstrip() for each in cut_up.sections}) == 1
    assert len({each.id for each in cut_up.sections}) == 4


def test_text_that_moves_keeps_its_id() -> None:
    before = {each.id for each in cut(part("A") + part("B")).chunks}
    after = {each.id for each in cut(part("New") + part("A") + part("B")).chunks}

    assert before < after


def test_other_frontmatter_changes_no_id() -> None:
    plain = [each.id for each in cut(part("A")).chunks]

    assert [each.id for each in cut(f"---\ntitle: x\n---\n{part('A')}").chunks] == plain


def test_the_same_text_in_another_document_has_another_id() -> None:
    one, other = cut(part("A"), "a.md"), cut(part("A"), "b.md")

    assert not {each.id for each in one.chunks} & {each.id for each in other.chunks}


def test_a_section_and_a_chunk_of_the_same_text_have_different_ids() -> None:
    cut_up = cut("Short.")

    assert cut_up.sections[0].id != cut_up.chunks[0].id


def test_text_that_cannot_be_encoded_has_an_id_too() -> None:
    assert len(cut("lone \ud800 surrogate").chunks[0].id) == 16
