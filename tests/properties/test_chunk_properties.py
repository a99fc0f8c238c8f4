"""Whatever the document and the sizes, the parts put together give the document back."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dowse._index.chunk import chunk
from dowse._index.markdown.document import parse
from dowse._index.options import ChunkOptions
from dowse._model import Block, Chunk, ChunkedDocument, Document, Section
from effort import examples

SETTINGS = examples(50, 150)

WORDS = [
    "word",
    "a",
    "Longer-word",
    "ends.",
    "Yes!",
    "x" * 40,
    "漢字",
    "一个句子。",
    "ü",
    "e\u0301",
    "🎉",
]
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60)
paragraphs = st.builds(str.join, st.sampled_from([" ", "\n", ""]), words)
headings = st.builds(
    lambda level, text: f"{'#' * level} {text}",
    st.integers(1, 6),
    st.sampled_from(["A", "B", "Some title", "", "漢字"]),
)
fences = st.lists(
    st.sampled_from(["", "x = 1", "  print('ü')", "# no heading", "y" * 90]), max_size=40
).map(lambda lines: "\n".join(["```py", *lines, "```"]))
tables = st.integers(0, 40).map(
    lambda rows: "\n".join(["| a | b |", "|---|---|", *["| 1 | 漢 |"] * rows])
)
lists = st.lists(words.map(" ".join).map("- {}".format), min_size=1, max_size=15).map("\n".join)
long_lines = st.builds(
    lambda unit, times: unit * times,
    st.sampled_from(["x", "漢", "ab ", "e\u0301"]),
    st.integers(1, 3000),
)
blanks = st.sampled_from(["", " ", "\n\n\n", "\n" * 400, " " * 300])
fronts = st.sampled_from(["", "---\ntitle: x\n---\n", "\n\n"])
bodies = st.lists(
    st.one_of(
        headings, headings, paragraphs, paragraphs, fences, tables, lists, long_lines, blanks
    ),
    max_size=25,
)
texts = st.builds(
    lambda front, between, parts, end: front + between.join(parts) + end,
    fronts, st.sampled_from(["\n\n", "\n"]), bodies, st.sampled_from(["", "\n", "\n\n\n"]),
)  # fmt: skip
documents = texts.map(lambda text: parse("notes/a.md", text))


@st.composite
def sizes(draw: st.DrawFn) -> ChunkOptions:
    section_max = draw(st.sampled_from([40, 150, 600, 2000]))
    chunk_max = draw(st.integers(section_max // 4, section_max))
    chunk_goal = draw(st.integers(1 + chunk_max // 3, chunk_max))
    return ChunkOptions(
        section_max=section_max,
        section_min=draw(st.integers(1, section_max)),
        chunk_max=chunk_max,
        chunk_goal=chunk_goal,
        chunk_min=draw(st.integers(1, chunk_goal)),
        overlap=draw(st.integers(0, chunk_goal // 2)),
    )


options = st.one_of(st.just(ChunkOptions()), sizes())


def own_start(each: Chunk) -> int:
    return each.start + each.overlap


def chunks_of(cut: ChunkedDocument, section: Section) -> list[Chunk]:
    return [each for each in cut.chunks if each.section == section.id]


def visible(document: Document, block: Block) -> tuple[int, int]:
    text = document.text[block.start : block.end]
    return block.end - len(text.lstrip()), block.start + len(text.rstrip())


@given(documents, options)
@SETTINGS
def test_sections_put_together_are_the_body(document: Document, options: ChunkOptions) -> None:
    cut = chunk(document, options)

    edge = document.body
    for section in cut.sections:
        assert section.start >= edge
        assert not document.text[edge : section.start].strip()
        assert document.text[section.start : section.end].strip()
        edge = section.end
    assert not document.text[edge:].strip()


@given(documents, options)
@SETTINGS
def test_chunks_without_overlap_put_together_are_their_section(
    document: Document, options: ChunkOptions
) -> None:
    cut = chunk(document, options)

    assert {each.section for each in cut.chunks} == {section.id for section in cut.sections}
    for section in cut.sections:
        edge = section.start
        for each in chunks_of(cut, section):
            assert own_start(each) >= edge
            assert not document.text[edge : own_start(each)].strip()
            edge = each.end
        assert not document.text[edge : section.end].strip()


@given(documents)
@SETTINGS
def test_only_long_stretches_of_nothing_are_in_no_chunk(document: Document) -> None:
    for before, after in pairwise(chunk(document, ChunkOptions()).chunks):
        assert own_start(after) == before.end or own_start(after) - before.end > 200


@given(documents, options)
@SETTINGS
def test_sizes_are_within_bounds(document: Document, options: ChunkOptions) -> None:
    cut = chunk(document, options)

    assert all(0 < part.end - part.start <= options.section_max for part in cut.sections)
    assert all(own_start(part) < part.end for part in cut.chunks)
    assert all(part.end - part.start <= options.chunk_max for part in cut.chunks)
    assert all(0 <= part.overlap <= options.overlap for part in cut.chunks)


@given(documents, options)
@SETTINGS
def test_a_small_chunk_fits_into_neither_neighbour(
    document: Document, options: ChunkOptions
) -> None:
    cut = chunk(document, options)

    for section in cut.sections:
        for before, after in pairwise(chunks_of(cut, section)):
            smaller = min(before.end - own_start(before), after.end - own_start(after))
            if smaller < options.chunk_min:
                assert after.end - own_start(before) > options.chunk_max


@given(documents, options)
@SETTINGS
def test_overlaps_repeat_the_chunk_before_and_start_well(
    document: Document, options: ChunkOptions
) -> None:
    cut = chunk(document, options)
    text = document.text

    for section in cut.sections:
        chunks = chunks_of(cut, section)
        assert chunks[0].overlap == 0
        for before, each in pairwise(chunks):
            if not each.overlap:
                continue
            assert own_start(before) <= each.start
            assert text[each.start : own_start(each)].strip()
            at_word = text[each.start - 1].isspace() or text[each.start - 1] in "。！？"
            assert at_word or text[each.start] >= "\u2e80"
            for block in document.blocks:
                start, end = visible(document, block)
                assert block.kind not in ("fence", "table") or not start < each.start < end


@given(documents, options)
@SETTINGS
def test_fences_and_tables_stay_whole_where_they_fit(
    document: Document, options: ChunkOptions
) -> None:
    cut = chunk(document, options)

    for block in document.blocks:
        start, end = visible(document, block)
        if block.kind in ("fence", "table") and end - start <= options.chunk_max:
            assert not any(start < own_start(each) < end for each in cut.chunks)


@given(documents)
@SETTINGS
def test_no_heading_is_left_behind_by_prose(document: Document) -> None:
    ends = {each.end for each in chunk(document, ChunkOptions()).chunks}

    for block, after in pairwise(document.blocks):
        prose = after.kind == "text" and document.text[after.start : after.end].strip()
        if block.kind == "heading" and prose and block.end - block.start < 300:
            assert block.end not in ends


def path_of_line(document: Document, number: int) -> list[int]:
    """The headings above a line, by their numbers, as a reader would find them line by line."""
    opened: list[int] = []
    for index, heading in enumerate(document.headings):
        if document.text.count("\n", 0, heading.start) + 1 > number:
            break
        opened = [above for above in opened if document.headings[above].level < heading.level]
        opened.append(index)
    return opened


def shared_path(document: Document, start: int, end: int) -> tuple[str, ...]:
    first = document.text.count("\n", 0, start) + 1
    last = document.text.count("\n", 0, end - 1) + 1
    paths = [path_of_line(document, number) for number in range(first, last + 1)]
    shared = []
    for steps in zip(*paths, strict=False):
        if len(set(steps)) > 1:
            break
        shared.append(document.headings[steps[0]].text)
    return tuple(text for text in shared if text)


@given(documents, options)
@examples(30, 60)
def test_header_paths_are_those_of_every_line(document: Document, options: ChunkOptions) -> None:
    cut = chunk(document, options)

    for section in cut.sections:
        assert section.header_path == shared_path(document, section.start, section.end)
    for each in cut.chunks:
        assert each.header_path == shared_path(document, own_start(each), each.end)


@given(documents, options)
@SETTINGS
def test_lines_are_right(document: Document, options: ChunkOptions) -> None:
    cut = chunk(document, options)
    lines = document.text.split("\n")

    parts: list[Section | Chunk] = [*cut.sections, *cut.chunks]
    for part in parts:
        assert part.first_line == document.text.count("\n", 0, part.start) + 1
        inside = "\n".join(lines[part.first_line - 1 : part.last_line])
        assert document.text[part.start : part.end].strip() in inside
        assert lines[part.last_line - 1].strip()


@given(documents, options)
@SETTINGS
def test_cutting_twice_gives_the_same_and_every_id_once(
    document: Document, options: ChunkOptions
) -> None:
    cut = chunk(document, options)

    assert cut == chunk(document, options)
    ids = [section.id for section in cut.sections] + [each.id for each in cut.chunks]
    assert len(ids) == len(set(ids))


@given(documents, st.integers(2, 500), st.data())
@SETTINGS
def test_windows_reassemble(document: Document, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    options = ChunkOptions(strategy="fixed", fixed_size=size, fixed_overlap=overlap)
    cut = chunk(document, options)

    edge = document.body
    for each in cut.chunks:
        assert each.end - each.start <= size
        assert each.overlap <= overlap
        assert own_start(each) >= edge
        assert not document.text[edge : own_start(each)].strip()
        edge = each.end
    assert not document.text[edge:].strip()
