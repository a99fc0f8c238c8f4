"""What a query means: words to search for, and conditions that its signs set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dowse._model import Condition, Query
from dowse._model.ports import Analyzer
from dowse._search.conditions import leaves
from dowse._search.query.lexing import FIELDS, lex
from dowse._search.query.meaning import Interpreter, Known, Meaning
from dowse._search.query.syntax import arrange

MOST_TERMS = 512
"""How many terms of a query are searched for; nobody types more, and pasted pages are cut."""

_MOST_CONDITIONS = 64  # what one statement of a store takes without strain
_SENTENCE = 4  # words outside quotes that make a query a sentence
_MOST_NAMED = 3  # unknown operators that a notice names
_NOTHING_KNOWN = Known()
_OPERATORS = ", ".join(f"{name}:" for name in sorted({*FIELDS.values(), "section", "line"}))


def understand(text: str, analyzer: Analyzer, known: Known = _NOTHING_KNOWN) -> Query:
    """The query that a text is; every text is one, and signs that make no sense are words."""
    meanings = list(Interpreter(analyzer, known).meanings(arrange(lex(text))))
    words = " ".join(meaning.text for meaning in meanings if meaning.text)
    terms = analyzer.query_terms(words)
    code_terms = distinct(term for term, _ in analyzer.code_terms(words))
    meanings = _soften(meanings, analyzer)
    conditions = _once(meaning.condition for meaning in meanings if meaning.condition)
    query = Query(
        written=text,
        text=words,
        terms=tuple(terms[:MOST_TERMS]),
        code_terms=code_terms[:MOST_TERMS],
        conditions=_few(conditions),
        prefixes=distinct(meaning.prefix for meaning in meanings if meaning.prefix),
    )
    notices = [meaning.notice for meaning in meanings if meaning.notice]
    unknown = distinct(meaning.unknown for meaning in meanings if meaning.unknown)
    cuts = _cuts(query, len(terms), _count(conditions))
    return replace(query, notices=distinct([*notices, *_unknown(unknown), *cuts]))


def _soften(meanings: list[Meaning], analyzer: Analyzer) -> list[Meaning]:
    """Takes phrases for mere words where they are in a sentence, which quotes names as it goes.

    On 349 such questions, demanding the phrase ranked far worse (nDCG@10 .23 against .34).
    """
    around = " ".join(one.text for one in meanings if not one.is_phrase)
    if sum(1 for word in around.split() if analyzer.query_terms(word)) < _SENTENCE:
        return meanings
    return [replace(one, condition=None) if one.is_phrase else one for one in meanings]


def distinct(items: Iterable[str]) -> tuple[str, ...]:
    """Each item once, in the order of first mention."""
    return tuple(dict.fromkeys(items))


def _once(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    seen: dict[Condition, Condition] = {}
    for condition in conditions:
        seen.setdefault(replace(condition, written=""), condition)
    return tuple(seen.values())


def _count(conditions: Iterable[Condition]) -> int:
    return sum(1 for condition in conditions for _ in leaves(condition))


def _few(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The first conditions, as many as a search can look at; one that is too much is left out."""
    kept: list[Condition] = []
    left = _MOST_CONDITIONS
    for condition in conditions:
        left -= _count([condition])
        if left >= 0:
            kept.append(condition)
    return tuple(kept)


def _unknown(names: tuple[str, ...]) -> Iterator[str]:
    if names:
        few = ", ".join(f"{name}:" for name in names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield (
            f"{few}{more} is no operator and no field of any document, so it was searched for as"
            f" words. Operators: {_OPERATORS}."
        )


def _cuts(query: Query, terms: int, conditions: int) -> Iterator[str]:
    if terms > MOST_TERMS:
        yield f"Only the first {MOST_TERMS} of {terms} words were searched for."
    if conditions > _MOST_CONDITIONS:
        yield f"Only the first {_MOST_CONDITIONS} of {conditions} conditions were kept."
    if not query.conditions and not any(map(str.isalnum, query.text)):
        yield "The query holds no word to search for."
