"""From the text of a query to its meaning: pieces, their groups, then words and conditions.

Every text is a query: what does not fit a sign's rules is an ordinary word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from dowse._model import Condition, ConditionKind, Fields, Query
from dowse._model.ports import Analyzer
from dowse._search.request import leaves, property_condition
from dowse._text.dates import moment_of

QueryPieceKind = Literal[
    "word",
    "phrase",
    "code",
    "prefix",
    "field",
    "property",
    "scope",
    "regex",
    "open",
    "close",
    "or",
    "and",
    "not",
]
"""What a piece of a query is.

A `field` is a condition that every index knows, a `property` one on a field of the frontmatter, if
any document has it. A `scope` says where words must be, as `line:` does. `open` and `close` are
parentheses.
"""

FIELDS: dict[str, ConditionKind] = {
    "title": "title",
    "tag": "tag",
    "tags": "tag",
    "path": "path",
    "file": "file",
    "author": "author",
    "category": "category",
    "type": "category",
    "lang": "language",
    "language": "language",
    "ext": "source",
    "source": "source",
    "after": "after",
    "before": "before",
}
"""The names that can be before a colon, and the condition that each sets."""

SCOPES: dict[str, ConditionKind] = {
    "line": "line",
    "section": "all",
    "block": "all",
    "content": "all",
}
"""The names before a colon that say where words must be: in one line, or in one passage."""

_CLOSING = {
    '"': '"',
    "`": "`",
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
}
_KNOWN = "|".join([*FIELDS, *SCOPES])
# Before a colon, any other name may be that of a field; `std::x`, `http://x` and `C:x` have none.
_SIGN_AND_FIELD = re.compile(
    rf"(-?)(?:({_KNOWN}|[^\W\d_][\w-]*\w(?=:[\w\"“„«(<>=#])):)?", re.IGNORECASE
)
_BRACKETED = re.compile(
    r"(-?)\[(?!\[)\s*(\"?)([^\[\]\":]{1,100}?)\2\s*(?::([^\[\]]*))?\](?=[\s)]|$)"
)
_REGEX = re.compile(r"-?/(?=\S)((?:[^/\\\n]|\\.)+)/[imsu]*(?=[\s)]|$)")
_OF_A_REGEX = re.compile(r"[\[\]{}|^$+?\\]|\.\*")  # a path such as /etc/hosts/ has none of these
_OPERATOR = re.compile(r"(OR|AND|NOT)(?=[\s(]|$)")
_STRUCTURED = re.compile(r"(?:^|[\s(])(?:OR|AND|NOT)(?=[\s(])|(?:^|\s)-\(|\w:\(")
_MOST_DEEP = 8  # parentheses in parentheses; deeper ones are characters of words
_SPACE_OR_QUOTE = re.compile(rf"[\s{''.join(_CLOSING)}]")
_PREFIX = re.compile(r"([^*]+)\*[.,;:!?)\]}'’]*")
_EXCLUDABLE = re.compile(r"[\w#.@/$]")  # how the word after a minus may begin: not `->x`, `-=`
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class QueryPiece(Struct, frozen=True):
    """A part of a query that means one thing."""

    kind: QueryPieceKind
    text: str  # without signs: what to search for, or the value of the field
    written: str  # as it is in the query
    negated: bool = False
    name: str = ""  # before the colon: of a field, a property, a scope or a parenthesis


def lex(query: str) -> list[QueryPiece]:
    """Split a query into its pieces, in their order; never raises.

    Characters that no tokenizer or store can take are replaced.
    """
    text = _LONE_SURROGATE.sub("\ufffd", _UNPRINTABLE.sub(" ", query))
    lexer = _Lexer(text, _STRUCTURED.search(text) is not None)
    pieces: list[QueryPiece] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        else:
            pieces.append(lexer.piece(at))
            at += len(pieces[-1].written)
    return pieces


class _Lexer(Struct):
    text: str
    structured: bool  # prose has parentheses too: they only mean something next to an operator
    depth: int = 0  # parentheses that are open
    absent: set[str] = field(default_factory=set)  # closing quotes that do not come any more

    def piece(self, at: int) -> QueryPiece:
        """Read the piece that begins here."""
        text, before = self.text, self.text[at - 1 : at]
        if self.depth and text[at] == ")":
            self.depth -= 1
            return QueryPiece("close", "", ")")
        if before and not before.isspace() and not (self.depth and before == "("):
            return self._quoted(at, at) or _word(text[at : self._end_of_run(at)])
        if found := _BRACKETED.match(text, at):
            return QueryPiece("property", found[4] or "", found[0], bool(found[1]), found[3])
        if (found := _REGEX.match(text, at)) and _OF_A_REGEX.search(found[1]):
            return QueryPiece("regex", found[1], found[0], found[0].startswith("-"))
        if self.structured and (found := _OPERATOR.match(text, at)):
            kind: QueryPieceKind = found[1].lower()  # type: ignore[assignment]  # it takes no other
            return QueryPiece(kind, found[1], found[1])
        return self._headed(at)

    def _headed(self, at: int) -> QueryPiece:
        """Read what may have a minus and a name before a colon: a parenthesis, a quote, a word."""
        text, head = self.text, _SIGN_AND_FIELD.match(self.text, at)
        negated, name, start = (
            (bool(head[1]), head[2] or "", head.end()) if head else (False, "", at)
        )
        if self.structured and text[start : start + 1] == "(" and self.depth < _MOST_DEEP:
            self.depth += 1
            return QueryPiece("open", "", text[at : start + 1], negated, name.lower())
        if quoted := self._quoted(at, start, name, negated=negated):
            return quoted
        run = text[at : self._end_of_run(at)]
        if name and at + len(run) > start:
            return _named(name, run[start - at :], run, negated=negated)
        # A minus leaves a word out, rather than beginning a flag as in `-rf`.
        if (
            run[0] == "-"
            and _EXCLUDABLE.match(run, 1)
            and (sum(map(str.isalpha, run)) >= 3 or not run.isascii())
        ):
            return replace(_word(run[1:]), written=run, negated=True)
        return _word(run)

    def _quoted(
        self, at: int, opening: int, name: str = "", *, negated: bool = False
    ) -> QueryPiece | None:
        end = self._closing(opening)
        if end is None:
            return None
        inside = " ".join(self.text[opening + 1 : end].split())
        written = self.text[at : end + 1]
        if not inside:
            return QueryPiece("word", self.text[at:opening], written)
        if name:
            return _named(name, inside, written, negated=negated)
        return QueryPiece(
            "code" if self.text[opening] == "`" else "phrase", inside, written, negated
        )

    def _closing(self, opening: int) -> int | None:
        """Find where the quote that opens here closes; None if none opens here, or never closes."""
        mark, before = self.text[opening : opening + 1], self.text[opening - 1 : opening]
        # As in 5" or don`t; texts without spaces between words are quoted in the middle of a run.
        is_part = mark in '"`' and before.isascii() and before.isalnum()
        if mark not in _CLOSING or is_part:
            return None
        ends = []
        for closing in _CLOSING[mark]:
            # Remembering what is absent keeps thousands of quotes that never close from costing a
            # look through the rest of the text each.
            if closing not in self.absent:
                ends.append(self.text.find(closing, opening + 1))
                self.absent |= {closing} if ends[-1] < 0 else set()
        return min((end for end in ends if end >= 0), default=None)

    def _end_of_run(self, at: int) -> int:
        last, opened = len(self.text), 0
        for found in _SPACE_OR_QUOTE.finditer(self.text, at + 1):
            if found[0].isspace() or self._closing(found.start()) is not None:
                last = found.start()
                break
        # Where a group is open, a parenthesis that closes more than the run has opened ends it.
        for place in range(at, last) if self.depth else ():
            opened += {"(": 1, ")": -1}.get(self.text[place], 0)
            if opened < 0:
                return place
        return last


def _named(name: str, value: str, written: str, *, negated: bool) -> QueryPiece:
    """Make the piece that a name before a colon sets."""
    known = name.lower()
    if known in FIELDS or known in SCOPES:
        kind: QueryPieceKind = "field" if known in FIELDS else "scope"
        return QueryPiece(kind, value, written, negated, known)
    return QueryPiece("property", value, written, negated, name)


def _word(run: str) -> QueryPiece:
    prefix = _PREFIX.fullmatch(run)
    if prefix and sum(map(str.isalnum, prefix[1])) >= 2:
        return QueryPiece("prefix", prefix[1], run)
    return QueryPiece("word", "" if not run.strip("*") else run, run)


# ── Groups ───────────────────────────────────────────────────────────────────

_OPERATORS = frozenset({"or", "and", "not"})
_INFIX = frozenset({"or", "and"})
_NO_PARENTHESIS = QueryPiece("open", "", "")


class QueryGroup(Struct, frozen=True):
    """Pieces that belong together."""

    parts: tuple[Node, ...]
    any: bool = False  # one of the parts is enough
    demanded: bool = False  # an operator demands its words: they are not only ranked by
    negated: bool = False
    name: str = ""  # what is before the parenthesis, as in `line:(…)`
    written: str = ""


Node = QueryPiece | QueryGroup
"""A piece, or several that belong together."""


def arrange(pieces: Sequence[QueryPiece]) -> QueryGroup:
    """Join pieces as OR, AND, NOT and parentheses say; an operator that joins nothing is a word.

    As in Obsidian, words next to each other bind closer than OR: `a b OR c` is `(a b) OR c`.
    """
    kept: list[QueryPiece] = []
    for place, piece in enumerate(pieces):
        after = pieces[place + 1] if place + 1 < len(pieces) else None
        lone = piece.kind in _OPERATORS and not _joins(piece, kept[-1] if kept else None, after)
        kept.append(replace(piece, kind="word") if lone else piece)
    return _group(iter(kept), [])


def _joins(operator: QueryPiece, before: QueryPiece | None, after: QueryPiece | None) -> bool:
    if after is None or after.kind in _INFIX | {"close"} or is_shouted_not(operator, after):
        return False
    return operator.kind == "not" or (
        before is not None and before.kind not in _INFIX | {"open", "not"}
    )


def is_shouted_not(before: QueryPiece, after: QueryPiece) -> bool:
    """Tell whether a NOT belongs to what follows it, as in NOT NULL or 404 NOT FOUND."""
    return before.kind == "not" and after.kind == "word" and after.text.isupper()


def _group(
    pieces: Iterator[QueryPiece], spelled: list[str], opening: QueryPiece = _NO_PARENTHESIS
) -> QueryGroup:
    """Take the group that begins here; it ends with its parenthesis, or with the query.

    `spelled` gets what is written of each piece.
    """
    clauses: list[list[Node]] = [[]]
    start = len(spelled)
    demanded = negate = False
    for piece in pieces:
        spelled.append(piece.written)
        if piece.kind == "close":
            break
        if piece.kind == "or":
            clauses.append([])
        elif piece.kind == "and":
            demanded = True
        elif piece.kind == "not":
            negate = not negate
        else:
            node = _group(pieces, spelled, piece) if piece.kind == "open" else piece
            if negate:
                node = replace(node, negated=not node.negated, written=f"NOT {node.written}")
            clauses[-1].append(node)
            negate = False
    written = opening.written + " ".join(spelled[start:])
    several = len(clauses) > 1
    ways = tuple(QueryGroup(tuple(clause), demanded=True) for clause in clauses)
    return QueryGroup(
        ways if several else tuple(clauses[0]),
        several,
        several or demanded,
        opening.negated,
        opening.name,
        written.replace("( ", "(").replace(" )", ")"),
    )


# ── What a query means: words to search for, and conditions that its signs set ───


MOST_TERMS = 512
"""How many terms of a query are searched for; nobody types more, and pasted pages are cut."""

COMPLETIONS = 20
"""How many words one `auth*` demands any of, where an operator demands it."""

_MOST_CONDITIONS = 64  # what one statement of a store takes without strain
_SENTENCE = 4  # words outside quotes that make a query a sentence, without those it leaves out
_QUESTION = 5  # and with them: why does my pod say "no space left"
_MOST_NAMED = 3  # unknown operators that a notice names
_QUOTES = '"“”„«»「」『』'
_ELSEWHERE = frozenset({"task", "task-todo", "task-done", "match-case", "ignore-case"})
_ENDS = re.compile(r"\A\W+|\W+\Z")
_REGEX_SIGNS = re.compile(r"\\[a-zA-Z]|\W|\d")
_NAMES_OF_FIELDS = ", ".join(f"{name}:" for name in sorted({*FIELDS.values(), "section", "line"}))


class Known(Struct, frozen=True):
    """What must be known of the documents to understand a query."""

    has_field: Callable[[str], bool] = lambda _: False  # whether any frontmatter has this field
    beginning: Callable[[str], Sequence[str]] = lambda _: ()  # words that begin so
    now: float = 0.0  # seconds since 1970


_NOTHING_KNOWN = Known()


def understand(text: str, analyzer: Analyzer, known: Known = _NOTHING_KNOWN) -> Query:
    """Read a text as a query; every text is one, and signs that make no sense are words."""
    meanings = list(_Interpreter(analyzer, known).meanings(arrange(lex(text))))
    words = " ".join(one.text for one in meanings if one.text)
    terms = analyzer.query_terms(words)
    code_terms = distinct(term for term, _ in analyzer.code_terms(words))
    # Phrases are mere words in a sentence, which quotes names as it goes. On 349 such questions,
    # demanding the phrase ranked far worse (nDCG@10 .23 against .34). So they are next to other
    # words when their quotes are those that phones and word processors make by themselves.
    phrases = [
        one for one in meanings if one.text and one.condition and one.condition.kind == "phrase"
    ]
    around = " ".join(one.text for one in meanings if one not in phrases).split()
    told = sum(1 for word in around if analyzer.query_terms(word))
    is_sentence = told >= _SENTENCE or len(around) >= _QUESTION
    conditions: dict[Condition, Condition] = {}
    for one in meanings:
        if (said := one.condition) and not (
            one in phrases and (is_sentence or (told and said.written[0] != '"'))
        ):
            conditions.setdefault(replace(said, written=""), said)
    counts = accumulate(sum(1 for _ in leaves(condition)) for condition in conditions.values())
    totals = dict(zip(conditions.values(), counts, strict=True))
    kept = [condition for condition, total in totals.items() if total <= _MOST_CONDITIONS]
    demanded = max(totals.values(), default=0)

    notices = [one.notice for one in meanings if one.notice]
    if unknown := distinct(one.unknown for one in meanings if one.unknown):
        few = ", ".join(f"{name}:" for name in unknown[:_MOST_NAMED])
        more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        notices.append(
            f"{few}{more} is no operator and no field of any document, so it was searched for as"
            f" words. Operators: {_NAMES_OF_FIELDS}."
        )
    if len(terms) > MOST_TERMS:
        notices.append(f"Only the first {MOST_TERMS} of {len(terms)} words were searched for.")
    if demanded > _MOST_CONDITIONS:
        notices.append(f"Only the first {_MOST_CONDITIONS} of {demanded} conditions were kept.")
    if not kept and not any(map(str.isalnum, words)):
        notices.append("The query has no words to search for.")
    return Query(
        written=text,
        text=words,
        terms=tuple(terms[:MOST_TERMS]),
        code_terms=code_terms[:MOST_TERMS],
        conditions=tuple(kept),
        notices=distinct(notices),
        prefixes=distinct(one.prefix for one in meanings if one.prefix),
    )


def distinct(items: Iterable[str]) -> tuple[str, ...]:
    """Keep each item once, in the order of first mention."""
    return tuple(dict.fromkeys(items))


class Meaning(Struct, frozen=True):
    """What one piece of a query contributes."""

    text: str = ""  # what an embedder reads of it
    condition: Condition | None = None
    prefix: str = ""
    notice: str = ""
    unknown: str = ""  # a name before a colon that nothing knows


class _Interpreter(Struct, frozen=True):
    """Tells what pieces and groups mean."""

    analyzer: Analyzer
    known: Known

    def meanings(self, node: Node) -> Iterator[Meaning]:
        """Read what a piece or a group contributes."""
        if isinstance(node, QueryPiece):
            yield self._meaning(node)
        elif node.name and not (
            node.name in FIELDS or node.name in SCOPES or self.known.has_field(node.name)
        ):
            yield Meaning(unknown=node.name)
            yield from self.meanings(replace(node, name=""))
        elif node.demanded or node.negated or node.name:
            yield from self._group(node)
        else:
            for part, after in zip_longest(node.parts, node.parts[1:]):
                yield from self.meanings(part)
                if (
                    isinstance(part, QueryPiece)
                    and isinstance(after, QueryPiece)
                    and part.text == "NOT"
                    and is_shouted_not(replace(part, kind="not"), after)
                ):
                    yield Meaning(
                        notice=f"NOT {after.text} was searched for as words, since {after.text} is"
                        f" in capitals; leave a word out with -{after.text.lower()}."
                    )

    def _group(self, group: QueryGroup) -> Iterator[Meaning]:
        inside = [one for part in group.parts for one in self._inside(part)]
        wanted = not group.negated and group.name in {"", *SCOPES}
        text = " ".join(one.text for one in inside if one.text) if wanted else ""
        condition = self._condition(group)
        yield Meaning(text, condition and replace(condition, written=group.written))
        yield from (Meaning(notice=one.notice, unknown=one.unknown) for one in inside)

    def _inside(self, node: Node) -> Iterator[Meaning]:
        """Read what the pieces in a group contribute, apart from their conditions."""
        if isinstance(node, QueryGroup):
            for part in () if node.negated else node.parts:
                yield from self._inside(part)
        else:
            yield self._meaning(node)

    # ── Conditions ───────────────────────────────────────────────────────────

    def _condition(self, node: Node, field: str = "") -> Condition | None:
        """Make the condition of a piece or a group, where an operator demands it."""
        if isinstance(node, QueryPiece):
            return self._demand(node, field)
        field = field if node.name in {"", *SCOPES} else node.name
        found = (self._condition(part, field) for part in node.parts)
        parts = tuple(one for one in found if one is not None)
        # Where one way of several demands nothing, nothing is demanded.
        if not parts or (node.any and len(parts) < len(node.parts)):
            return None
        kind: ConditionKind = "any" if node.any else "all"
        if node.name in SCOPES and (scope := SCOPES[node.name]) == "line":
            parts = (Condition("any", parts=parts),) if node.any else parts
            kind = scope
        if len(parts) == 1 and kind != "line":
            return replace(parts[0], negated=parts[0].negated != node.negated)
        return Condition(kind, negated=node.negated, written=node.written, parts=parts)

    def _demand(self, piece: QueryPiece, field: str) -> Condition | None:
        if field and piece.kind in {"word", "phrase", "prefix", "code"}:
            kind: QueryPieceKind = "field" if field in FIELDS else "property"
            return self._meaning(replace(piece, kind=kind, name=field)).condition
        if piece.kind == "prefix" and (words := self.known.beginning(piece.text)):
            parts = tuple(filter(None, (self._phrase(replace(piece, text=one)) for one in words)))
            return Condition("any", negated=piece.negated, parts=parts) if parts else None
        meaning = self._meaning(piece)
        return meaning.condition or (self._phrase(piece) if meaning.text else None)

    def _phrase(self, piece: QueryPiece) -> Condition | None:
        """Demand the terms of a text as they follow each other in a chunk.

        A field that weighs less than one does not lay every term down, so the fullest account
        counts.
        """
        accounts = (
            self.analyzer.chunk_terms(Fields(), (), piece.text),
            self.analyzer.chunk_terms(Fields(title=piece.text), (), ""),
            [(term, place) for place, term in enumerate(self.analyzer.query_terms(piece.text))],
        )
        by_position = ({place: term for term, place in reversed(terms)} for terms in accounts)
        terms = tuple(term for _, term in sorted(max(by_position, key=len).items()))
        phrase = Condition("phrase", terms, negated=piece.negated, written=piece.written)
        return phrase if terms else None

    # ── Pieces ───────────────────────────────────────────────────────────────

    def _meaning(self, piece: QueryPiece) -> Meaning:
        if piece.kind == "field":
            return self._field(piece, FIELDS[piece.name])
        if piece.kind == "property":
            return self._property(piece)
        if piece.kind == "scope":
            return self._scope(piece)
        if piece.kind == "regex":
            words = _REGEX_SIGNS.sub(" ", piece.text).split()
            return Meaning(
                " ".join(word for word in words if len(word) > 2),
                notice=f"{piece.written} is a regular expression, which dowse does not search by:"
                " only its words were used. Complete a word with a star, as in restor*.",
            )
        if piece.negated:
            return self._exclusion(piece)
        condition = self._phrase(piece) if piece.kind == "phrase" else None
        # What is completed is from its first letter, digit or underscore to its last.
        prefix = _ENDS.sub("", piece.text) if piece.kind == "prefix" else ""
        return Meaning(piece.text, condition, prefix)

    def _exclusion(self, piece: QueryPiece) -> Meaning:
        condition, notice = self._phrase(piece), ""
        if condition is None:
            notice = f"{piece.written} leaves nothing out: such words are not indexed."
        elif piece.kind == "prefix":
            notice = (
                f'{piece.written} leaves out only "{piece.text}": a star does not widen a minus.'
            )
        elif not all(map(self.analyzer.query_terms, piece.text.split())):
            notice = (
                f"{piece.written} leaves out more than it says: some of its words are not indexed."
            )
        return Meaning(condition=condition, notice=notice)

    def _scope(self, piece: QueryPiece) -> Meaning:
        """Read `line:word`: the word must be there, not only in the title or a heading above."""
        kind, phrase = SCOPES[piece.name], self._phrase(replace(piece, negated=False))
        if phrase is None:
            return Meaning(notice=f"{piece.written} demands nothing: such words are not indexed.")
        condition = Condition(kind, negated=piece.negated, written=piece.written, parts=(phrase,))
        return Meaning("" if piece.negated else piece.text, condition)

    def _property(self, piece: QueryPiece) -> Meaning:
        bracketed = piece.written.lstrip("-").startswith("[")
        name, value = piece.name, piece.text if bracketed else piece.text.rstrip(",;")
        is_tag = bracketed and name.casefold() in {"tag", "tags"} and value
        if is_tag or self.known.has_field(name):
            return Meaning(
                condition=property_condition(
                    name, value, self.known.now, negated=piece.negated, written=piece.written
                )
            )
        if name.casefold() in _ELSEWHERE:
            return Meaning(piece.text, unknown=name)
        unknown = "" if bracketed and not value else name
        if piece.negated and not bracketed:
            word = replace(piece, kind="word", text=piece.written.removeprefix("-"), name="")
            return replace(self._exclusion(word), unknown=unknown)
        return Meaning(piece.written, unknown=unknown)

    def _field(self, piece: QueryPiece, kind: ConditionKind) -> Meaning:
        value = piece.text.rstrip(",;").strip(_QUOTES).strip("*").strip()
        if kind == "tag":
            value = value.lstrip("#").strip("/")
        elif kind == "source":
            value = value.lstrip(".")
        if not value:
            return Meaning(piece.written)
        condition = Condition(kind, (value,), negated=piece.negated, written=piece.written)
        if kind not in ("after", "before"):
            return Meaning(condition=condition)
        bound = moment_of(value, self.known.now)
        if bound is None:
            return Meaning(
                piece.written,
                notice=f"{piece.written} names no date, so it was searched for as words; a date"
                f" looks like {kind}:2024-05-31, {kind}:2024, {kind}:yesterday or {kind}:7d.",
            )
        return Meaning(condition=replace(condition, values=(), bound=bound))
