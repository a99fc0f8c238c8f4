"""What is read, parsed and cut."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from dowse._text.matching import fold_name

LinkKind = Literal["wikilink", "embed", "relative", "related"]
"""How an edge between two documents was written."""


NameKind = Literal["title", "alias", "heading"]
"""Where a name was written."""

Context = Literal["title", "headings", "none"]
"""What is embedded before the text of a chunk: title and headings, headings alone, nothing."""

BlockKind = Literal["heading", "text", "fence", "table"]
"""What a block is, as far as chunking cares: fences and tables are kept whole where they fit."""


class SourceFile(msgspec.Struct, frozen=True, gc=False):
    """A file that belongs to the project, known from its directory entry alone.

    There are many at once, so that making and collecting them must be quick.
    """

    id: str  # path below its root with "/"; files of further roots start with "@name/"
    place: str  # its absolute path
    size: int  # bytes
    mtime_ns: int  # nanoseconds since 1970

    @property
    def path(self) -> Path:
        """Return where it is."""
        return Path(self.place)


class SourceText(Struct, frozen=True):
    """What a source file says: decoded, without a byte order mark, lines ended by a line feed."""

    text: str
    digest: str  # sha256 of the file's bytes, hex
    secrets: int = 0  # how many were replaced
    encoding: str = ""  # where it is not UTF-8 and was recognised by its bytes


class LeftOut(Struct, frozen=True):
    """A file, or a part of one, that could not be used, and why."""

    id: str  # of the document, or the path as given when it has no id
    reason: str  # one sentence, ending with what to do where something can be done
    whole: bool = True  # False: the document is indexed, only a part of it was ignored
    lost: bool = True  # False: dowse does not read such files, so nothing that it should have


class Fields(Struct, frozen=True):
    """What a document says about itself, from its frontmatter and its text."""

    title: str = ""  # frontmatter, else first H1, else the file name
    description: str = ""
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # frontmatter and inline, without "#", nested as "a/b"
    aliases: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    category: str = ""
    created: float | None = None
    modified: float | None = None  # what the frontmatter says, not the file's time
    properties: tuple[tuple[str, tuple[str, ...]], ...] = ()  # all of the frontmatter, as written

    def texts(self) -> dict[str, str]:
        """Return the texts that can be searched for, by field."""
        return {
            "title": self.title,
            "keywords": "\n".join(self.keywords),
            "description": self.description,
            "tags": "\n".join(self.tags),
            "aliases": "\n".join(self.aliases),
            "author": "\n".join(self.author),
            "category": self.category,
        }


class Heading(Struct, frozen=True):
    """A heading line."""

    level: int  # 1 to 6
    text: str  # without markup
    start: int  # offset of its line


class Block(Struct, frozen=True):
    """A stretch of the body that one piece of Markdown syntax covers."""

    kind: BlockKind
    start: int
    end: int


class CodeBlock(Struct, frozen=True):
    """A fenced block, without its fences."""

    language: str  # lower case; "" when the fence names none
    text: str
    start: int  # offset of the opening fence
    end: int
    first_line: int  # of the opening fence
    last_line: int


class Link(Struct, frozen=True):
    """A reference to another document, as written."""

    kind: LinkKind
    target: str  # what it points at, without the part after "#"
    anchor: str  # the part after "#": a heading, or "^block"; "" when there is none
    label: str  # the text shown; "" when the link names none
    line: int


class Document(Struct, frozen=True):
    """One parsed source file.

    The blocks follow each other without a gap from `body` to the end of `text`.
    """

    id: str
    text: str  # the whole file, frontmatter included
    body: int  # offset where the frontmatter ends
    fields: Fields
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    code_blocks: tuple[CodeBlock, ...] = ()
    links: tuple[Link, ...] = ()
    problems: tuple[LeftOut, ...] = ()  # parts that were ignored; the document is indexed
    secrets: int = 0  # matches of read.redact that were replaced in its text


class Section(Struct, frozen=True):
    """A parent: the unit that is returned when parent retrieval is on."""

    id: str  # 16 hex digits of a hash over the document's id, place and text
    header_path: tuple[str, ...]  # the headings above all of its text
    start: int
    end: int
    first_line: int
    last_line: int


class Chunk(Struct, frozen=True):
    """A child: the unit that is searched, always inside one section."""

    id: str  # 16 hex digits of a hash over the document's id, place and text
    section: str  # the id of its section
    header_path: tuple[str, ...]  # the headings above all of its text
    start: int
    end: int
    overlap: int  # how many characters at its start repeat the end of the chunk before it
    first_line: int
    last_line: int


class Name(Struct, frozen=True):
    """What a chunk is called: a heading in it, or, for the first, the title or an alias."""

    kind: NameKind
    path: tuple[str, ...]  # the headings above it, then the name itself
    start: int  # where the text begins that it names
    line: int  # and the line of that


class ChunkedDocument(Struct, frozen=True):
    """A document cut into sections, and those into chunks; both in the order of the text."""

    document: Document
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    context: Context = "title"  # what is embedded before the text of a chunk

    def text_of(self, part: Section | Chunk) -> str:
        """Return the text that a section or chunk covers."""
        return self.document.text[part.start : part.end]

    def embedding_text(self, chunk: Chunk) -> str:
        """Return what the embedder reads of a chunk."""
        title = self.document.fields.title
        return embedding_text(title, chunk.header_path, self.text_of(chunk), self.context)

    def code_by_chunk(self) -> list[list[CodeBlock]]:
        """Return for each chunk the code that begins in it; code in no chunk is left out."""
        found: list[list[CodeBlock]] = [[] for _ in self.chunks]
        ends = [chunk.end for chunk in self.chunks]
        for block in self.document.code_blocks:
            place = bisect_right(ends, block.start)
            if place < len(found):
                found[place].append(block)
        return found

    def names(self) -> list[tuple[Chunk, Name]]:
        """Name its chunks, in the order of the text: the first by title and aliases, too."""
        if not self.chunks:
            return []
        first, fields = self.chunks[0], self.document.fields
        named: list[tuple[NameKind, str]] = [("title", fields.title)] if fields.title else []
        named += [("alias", alias) for alias in fields.aliases]
        place = first.start, first.first_line
        return [*((first, Name(kind, (name,), *place)) for kind, name in named), *self._headings()]

    def _headings(self) -> Iterator[tuple[Chunk, Name]]:
        """Return each heading with the chunk that has it; what is left out at the end has none."""
        ends, text = [chunk.end for chunk in self.chunks], self.document.text
        above: list[Heading] = []
        for heading in self.document.headings:
            above = [*(one for one in above if one.level < heading.level), heading]
            place = bisect_right(ends, heading.start)
            if place < len(ends) and self.chunks[place].start <= heading.start:
                chunk = self.chunks[place]
                line = chunk.first_line + text.count("\n", chunk.start, heading.start)
                path = tuple(one.text for one in above)
                yield chunk, Name("heading", path, heading.start, line)


def embedding_text(
    title: str, header_path: tuple[str, ...], text: str, context: Context = "title"
) -> str:
    """Return what the embedder reads of a chunk: title and header path, a blank line, the text."""
    paths = {"title": titled_path(title, header_path), "headings": header_path, "none": ()}
    path = paths[context]
    return f"{header_line(path)}\n\n{text}" if path else text


def titled_path(title: str, header_path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the title and the headings below it, without a first heading that repeats it."""
    repeated = header_path and fold_name(header_path[0]) == fold_name(title)
    return header_path if repeated or not title else (title, *header_path)


def header_line(header_path: tuple[str, ...]) -> str:
    """Return a header path as people read it: `A > B > C`."""
    return " > ".join(header_path)
