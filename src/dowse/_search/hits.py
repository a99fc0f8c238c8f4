"""What is shown of a candidate: its lines, the snippet, other places; and why it is where it is."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from itertools import chain, pairwise, starmap, takewhile
from operator import attrgetter
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from dowse._model import ChunkOutcome, Explanation, Hit, OtherPassage, StoredChunk, StrategyRank
from dowse._search.confidence import label, words_in, words_of
from dowse._search.documents import is_stale
from dowse._search.state import Candidate, SearchState
from dowse._search.strategies import STRATEGIES, Strategy, rankers
from dowse._text.dates import iso
from dowse._text.markdown import (
    SHORTCODE,
    Piece,
    heading_path,
    pieces,
    plain,
    shortcode_text,
    shown_name,
    under_headings,
)
from dowse._text.matching import TermsOf, Wanted
from dowse._text.scripts import CJK, CJK_CHARACTER, is_unspaced, late_pattern, readable_share
from dowse._text.sentences import sentence_ends
from dowse._util.messages import listed


def make_hits(
    search: SearchState, candidates: Sequence[Candidate], offset: int = 0
) -> tuple[Hit, ...]:
    """Make the hits for these candidates, ranked from the first after `offset`."""
    reader, words, hits = search.reader, words_of(search), []
    ids = {candidate.document for candidate in candidates}
    edges = reader.links.of(ids) if ids else []
    files = cache(reader.catalogue.files)  # needed only when a file's time has changed
    rarity = search.rarity("body", search.query.terms)
    for rank, candidate in enumerate(candidates, offset + 1):
        chunk, document = candidate.stored.chunk, candidate.stored.document
        title = shown_name(document.fields.title)
        above, passage, passage_line = chunk.header_path, candidate.stored.text, chunk.first_line
        if (heading := candidate.heading) is not None:
            above, passage_line = heading.path, heading.line
            passage = passage[heading.start - chunk.start :]
        if "{{" in passage:  # Dendron puts fields of the frontmatter in
            for name, values in (*document.fields.properties, ("title", [title])):
                passage = passage.replace(f"{{{{fm.{name}}}}}", " ".join(values))
        found = excerpt(passage, words.wanted, search.parts.analyzer.query_terms, rarity)
        first_line, last_line, text = _shown(candidate)
        present = words_in(candidate, words)
        match, reason = label(search, candidate, present)
        own = [edge for edge in edges if document.id in (edge.source, edge.target)]
        out = dict.fromkeys(edge.target for edge in own if edge.target not in (None, document.id))
        into = dict.fromkeys(edge.source for edge in own if edge.source != document.id)
        hits.append(
            Hit(
                rank=rank,
                match=match,
                reason=reason,
                without=present.without,
                score=candidate.score,
                id=candidate.section.id if candidate.section else chunk.id,
                section=chunk.section,
                document=document.id,
                project=search.parts.project,
                title=title or document.fields.title,
                header_path=heading_path(tuple(map(shown_name, above)), found.headings),
                line=passage_line + found.line,
                first_line=first_line,
                last_line=last_line,
                date=iso(document.modified),
                stale=is_stale(search.parts.roots, document, files),
                tags=document.fields.tags,
                links_out=tuple(filter(None, out)),
                links_in=tuple(into),
                snippet=found.text,
                text=text,
                more=_more(candidate, first_line, last_line),
                places=tuple(candidate.places),
                steps=tuple(candidate.steps),
            )
        )
    return tuple(hits)


def missing_from(hits: Sequence[Hit], scripts: Collection[str] | None = None) -> list[str]:
    """Say which key words of the query none of the results has, and if no model could read them."""
    first, *others = [hit.without for hit in hits] or [()]
    missing = [word for word in first if all(word in one for one in others)]
    if not missing:
        return []
    unread = readable_share("".join(missing), scripts) == 0
    why = ", and the embedding model cannot read this script" if unread else ""
    return [f"No result has {listed(missing)}{why}."]


def _shown(candidate: Candidate) -> tuple[int, int, str]:
    """Find the first and the last line of what is shown, and its text."""
    if (section := candidate.section) is not None:
        return section.first_line, section.last_line, candidate.section_text
    best, others = candidate.stored, [one.stored for one in candidate.others]
    if (heading := candidate.heading) is not None:  # what is before it belongs to something else
        others = [one for one in others if one.chunk.start > best.chunk.start]
    shown = [best]
    while True:  # join it with those of the others, best first, that touch it and fit
        first, last = shown[0], shown[-1]
        near = [
            one
            for one in others
            if (_touches(one, first) and last.chunk.end - one.chunk.start <= _LONGEST)
            or (_touches(last, one) and one.chunk.end - first.chunk.start <= _LONGEST)
        ]
        if not near:
            break
        others.remove(near[0])
        shown = sorted([*shown, near[0]], key=_BY_START)
    text, end = "", first.chunk.start
    for one in shown:  # what a passage repeats of the one before it is there once
        text += one.text[end - one.chunk.start :]
        end = one.chunk.end
    last_line = last.chunk.last_line
    if heading is not None:
        return heading.line, last_line, text[heading.start - best.chunk.start :]
    return first.chunk.first_line, last_line, text


def _more(candidate: Candidate, first_line: int, last_line: int) -> tuple[OtherPassage, ...]:
    """List the other places of its document, without what is shown."""
    scores = {
        one.stored.key: one.score
        for one in candidate.others
        if one.stored.chunk.first_line < first_line or one.stored.chunk.last_line > last_line
    }
    elsewhere = [one.stored for one in candidate.others if one.stored.key in scores]
    runs: list[list[StoredChunk]] = []  # of passages that follow each other
    for one in sorted(elsewhere, key=_BY_START):
        if not runs or not _touches(runs[-1][-1], one):
            runs.append([])
        runs[-1].append(one)
    order = list(scores).index  # best first
    more = []
    for run in sorted(runs, key=lambda run: min(order(one.key) for one in run)):
        best = max(run, key=lambda one: scores[one.key])
        levels = zip(*(one.chunk.header_path for one in run), strict=False)
        shared = takewhile(lambda level: len(set(level)) == 1, levels)
        path = tuple(shown_name(level[0]) for level in shared)
        first, last = run[0].chunk.first_line, run[-1].chunk.last_line
        more.append(OtherPassage(best.chunk.id, path, first, last, scores[best.key]))
    return tuple(more)


_LONGEST = 3000  # characters that are shown together: two passages of the largest size
_BY_START = attrgetter("chunk.start")


def _touches(one: StoredChunk, following: StoredChunk) -> bool:
    return one.chunk.start < following.chunk.start <= one.chunk.end < following.chunk.end


# ── The part of a text that shows best why it was found ─────────────────────────


_LENGTH = 200  # characters
_LEAD = 40  # characters before the first match that make it readable
_BREAK = re.compile(r": | · ")  # what follows can be read without what is before it
_STARS = re.compile(r"\*{2,}")
_STARS_AFTER_A_MARK = re.compile(r"\A\*+|\*{2,}")

Rarity = Mapping[str, float]
"""How much each term says about a text that has it; 1 for a term that is not named."""

Weights = Mapping[str, int]
"""What each term says, in whole numbers, which add up to the same sum in every order."""

_EQUAL: Rarity = MappingProxyType({})
_STEPS = 1000  # of a weight


class Excerpt(Struct, frozen=True):
    """A part of a text, and where it is."""

    text: str  # about 200 characters, each match between ** and **
    line: int  # of the text, from 0, where most of the match is; 0 when nothing matches
    headings: tuple[str, ...]  # in the text, above that line


def excerpt(text: str, wanted: Wanted, terms_of: TermsOf, rarity: Rarity = _EQUAL) -> Excerpt:
    """Cut out about 200 characters with the most and rarest terms, each between ** and **.

    It is plain text: the text's own Markdown and the headings at its beginning are left out, and
    where two stars are meant, as in `f(**keywords)`, they are escaped. Without any match it is the
    beginning of the text.
    """
    weights = {term: round(_STEPS * rarity.get(term, 1.0)) for term in wanted.terms}
    seen = _remembered(text) if len(text) <= _SHORT else _read(text)
    shown, marks = seen.text, find_marks(seen.text, wanted, terms_of)
    body = seen.body
    if not shown or (wanted.terms and not marks):
        # What matched may be something that readers do not see, such as the target of a link.
        parts = (SHORTCODE.sub(shortcode_text, one.markup) for one in seen.pieces if not one.level)
        raw = _one_line(" ".join(parts) if shown else text)
        if raw_marks := find_marks(raw, wanted, terms_of):
            shown, marks, body = raw, raw_marks, 0
    start, end = _window(shown, [mark for mark in marks if mark.start >= body], weights, body)
    drawn_marks = [mark for mark in marks if start <= mark.start < end]
    # The headings above it count for the line where it begins below them.
    inside = [mark for mark in marks if mark.start < body and start == body] + drawn_marks
    is_read = shown is seen.text
    places = [bisect_right(seen.starts, mark.start) - 1 for mark in inside if is_read]
    pieces = {seen.lines[place] for place in places} if is_read else {range(len(text) + 1)}
    words = {shown[mark.start : mark.end]: mark.terms for mark in inside}
    line = _line_with(words, text, pieces, weights)
    before = "… " if start > body else ""
    after = " …" if end < len(shown) else ""
    drawn = before + _drawn(shown, start, end, drawn_marks) + after
    paths = under_headings(piece for piece in seen.pieces if piece.line <= line)
    return Excerpt(drawn, line, [(), *(path for _, path in paths)][-1])


def _line_with(
    words: Mapping[str, AbstractSet[str]], text: str, among: Collection[range], weights: Weights
) -> int:
    """Find the first line in some ranges that says most by these words; by default their first."""
    best, most = min((lines.start for lines in among), default=0), 0
    for number, line in enumerate(text.split("\n") if words else ()):
        if any(number in lines for lines in among):
            terms = [terms for word, terms in words.items() if _has_word(line, word)]
            said = sum(weights[term] for term in frozenset[str]().union(*terms))
            if said > most:
                best, most = number, said
    return best


def _has_word(line: str, word: str) -> bool:
    """Tell whether a line has a word, and not only as a part of a longer one."""
    size = len(word)
    around = (line[at - 1 : at] + line[at + size : at + size + 1] for at in _places(line, word))
    return any(is_unspaced(word[0]) or not any(map(str.isalnum, signs)) for signs in around)


def _places(text: str, part: str) -> Iterator[int]:
    """Find where a text has a part, none overlapping another."""
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))


# ── The window ─────────────────────────────────────────────────────────────────


def _window(text: str, marks: list[Mark], weights: Weights, body: int) -> tuple[int, int]:
    """Choose where to begin, from `body` on, and to end, so that it says most and cuts no word."""
    match = marks[_best_first(marks, weights)].start if marks else body
    start = max(body, match - _LEAD)
    if start > body:
        breaks = (found.end() for found in _BREAK.finditer(text, start, match))
        last = max((*sentence_ends(text, start, match), *breaks), default=0)
        start = last + (text[last] == " ") if last else min(_next_word(text, start), match)
    if len(text) - start < _LENGTH:
        # Near the end there is room for more of what comes before.
        start = min(start, _next_word(text, max(body, len(text) - _LENGTH)))
    limit = end = start + _LENGTH
    if limit >= len(text):
        return start, len(text)
    while end > start + _LENGTH // 2 and not _may_cut(text, end):
        end -= 1
    return start, end if _may_cut(text, end) else limit


def _best_first(marks: list[Mark], weights: Weights) -> int:
    """Find the first of the marks that are in one window and say most by their distinct terms."""
    inside = dict.fromkeys(weights, 0)
    best, most, said, last = 0, 0, 0, 0
    for first, mark in enumerate(marks):
        while last <= first or (
            last < len(marks) and marks[last].end - mark.start <= _LENGTH - _LEAD
        ):
            for term in marks[last].terms:
                said += 0 if inside[term] else weights[term]
                inside[term] += 1
            last += 1
        if said > most:
            best, most = first, said
        for term in mark.terms:
            inside[term] -= 1
            said -= 0 if inside[term] else weights[term]
    return best


def _next_word(text: str, place: int) -> int:
    """Find the first place from here on where a window may begin without cutting a word."""
    if place <= 0:
        return 0
    while place < len(text) and not _may_cut(text, place):
        place += 1
    while text[place : place + 1] in {" ", "·"}:
        place += 1
    return place


def _may_cut(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    return before == " " or after == " " or (is_unspaced(before) and is_unspaced(after))


def _drawn(text: str, start: int, end: int, marks: list[Mark]) -> str:
    """Draw each mark between two stars; other stars are escaped where they would be taken so."""
    parts: list[str] = []
    for mark in marks:
        # Stars that touch a mark are drawn inside it: outside they would seem to be part of it.
        before = text[start : mark.start].rstrip("*")
        inside = text[start + len(before) : min(mark.end, end)].replace("*", r"\*")
        parts += [before, f"**{inside}**"]
        start = min(mark.end, end)
    parts.append(text[start:end])
    for place in range(0, len(parts), 2):
        stars = _STARS_AFTER_A_MARK if place else _STARS
        parts[place] = stars.sub(lambda found: r"\*" * len(found[0]), parts[place])
    return "".join(parts).strip()


# ── A passage as its readers see it: on one line, without markup, still knowing its lines ───

_NO_END = 10**9  # no text has so many lines
_SHORT = 10_000  # characters; what is longer is not remembered


class Readable(Struct, frozen=True):
    """What a reader sees of a text, and where in the text it is."""

    text: str  # on one line
    pieces: tuple[Piece, ...]  # that the text was made of
    body: int  # where what is below the first headings begins
    starts: tuple[int, ...]  # where each of the pieces begins in `text`
    lines: tuple[range, ...]  # of each, from 0; the last one has no end


def _read(text: str) -> Readable:
    found = pieces(text)
    shown: list[str] = []
    kept: list[Piece] = []
    starts: list[int] = []
    size = 0
    for piece in found:
        part = _one_line(piece.markup if piece.kind == "code" else plain(piece.markup))
        if part:
            part += " ·" * (piece.kind in {"heading", "row"} and piece is not found[-1])
            kept.append(piece)
            starts.append(size)
            shown.append(part)
            size += len(part) + 1
    firsts = [*(piece.line for piece in kept), _NO_END]
    body = next((start for piece, start in zip(kept, starts, strict=True) if not piece.level), 0)
    lines = tuple(starmap(range, pairwise(firsts)))
    return Readable(" ".join(shown), tuple(kept), body, tuple(starts), lines)


_remembered = lru_cache(256)(_read)  # who goes on typing sees mostly the same passages


def _one_line(text: str) -> str:
    """Put a text on one line, without backticks: a window could cut between two of a pair."""
    return unicodedata.normalize("NFC", " ".join(text.replace("`", "").split()))


# ── Where in a text the terms of a query are ───────────────────────────────────


class Mark(Struct, frozen=True):
    """A stretch of a text that holds terms of the query."""

    start: int
    end: int
    terms: AbstractSet[str]


_WORD = late_pattern(rf"[^\s()\[\]{{}}<>\"`,;|=*“”„«»…、。，；：！？「」『』（）【】《》·{CJK}]+")
_LEADING = re.compile(r"['’!?:&^~%$@_-]+(?=\w)")
_TRAILING = ".!?:'’&^~/_-"
_LONGEST_WORD = 100  # characters; of what is longer only the beginning is marked


def find_marks(text: str, wanted: Wanted, terms_of: TermsOf) -> list[Mark]:
    """Find the places of the query's terms, in their order, none overlapping another.

    Words between blanks are compared term by term. In scripts without blanks a term is looked for
    among the characters, since the text does not show what the analyzer takes for a word there.
    """
    if not wanted.terms or not text:
        return []
    marks = list(_marks_of_words(text, wanted, terms_of))
    if terms := [one for one in wanted.terms if not one.isascii() and CJK_CHARACTER.search(one)]:
        marks += _ideographic_marks(text, terms)
    return _merged(marks)


def _marks_of_words(text: str, wanted: Wanted, terms_of: TermsOf) -> Iterator[Mark]:
    words = set(_WORD.findall(text))  # most of them recur, and most have no term of the query
    met = wanted.in_words(words, terms_of)
    if missing := wanted.terms.difference(*met.values()):
        lines = "\n".join(("", *chain.from_iterable(map(terms_of, words))))
        if begun := {term for term in missing if f"\n{term}" in lines}:  # mostly none
            met = wanted.loosened(begun).in_words(words, terms_of)
    for word, hits in met.items():
        leading = _LEADING.match(word)
        skipped = leading.end() if leading else 0
        core = word[skipped:].rstrip(_TRAILING)
        if not core:
            skipped, core = 0, word
        for start in _places(text, word):
            end = start + len(word)
            if not (_WORD.match(text[start - 1 : start]) or _WORD.match(text[end : end + 1])):
                first = start + skipped
                yield Mark(first, first + min(len(core), _LONGEST_WORD), hits)


def _ideographic_marks(text: str, terms: Sequence[str]) -> list[Mark]:
    # Terms may be single characters and pairs, overlapping each other. One that is a part of
    # another term, or is met inside a longer match, says little where it is alone.
    whole = "\n".join(terms)
    found = []
    for term in terms:
        if len(term) > 1 or whole.count(term) == 1:
            spelled = term.rstrip("*")
            if len(spelled) >= 3 and spelled not in text:
                # An analyzer gives verbs as the dictionary has them; the text has another ending.
                spelled = spelled[:-1]
            found += [Mark(at, at + len(spelled), {term}) for at in _places(text, spelled)]
    marks = _merged(found)
    inside_longer = set().union(*(mark.terms for mark in marks if mark.end - mark.start > 2))
    return [mark for mark in marks if mark.end - mark.start > 2 or not mark.terms <= inside_longer]


def _merged(marks: list[Mark]) -> list[Mark]:
    """Put marks in their order; make one of those that touch or overlap."""
    merged: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.end)):
        touches = bool(merged) and mark.start <= merged[-1].end
        last = merged.pop() if touches else mark
        merged.append(Mark(last.start, max(last.end, mark.end), last.terms | mark.terms))
    return merged


# ── Why a document is where it is in the results, or why it is not there ─────────


def explain(search: SearchState, document_id: str) -> Explanation:
    """Explain what happened to a document in a search that has been run."""
    keys = search.reader.catalogue.keys_of([document_id]).tolist()
    stored = search.stored(keys)
    own = rankers(search) if search.has_words else ()
    able = [one for one in own if search.vector is not None or one.uses != "vectors"]
    standing = _standing(search, able, set(keys))
    shown = {one.stored.key: place for place, one in enumerate(search.candidates, start=1)}
    known = {one.stored.key: one for one in [*search.dropped, *search.candidates]}
    outcomes = []
    for key in keys:
        chunk, candidate = stored[key].chunk, known.get(key)
        outcomes.append(
            ChunkOutcome(
                chunk.id,
                chunk.header_path,
                chunk.first_line,
                chunk.last_line,
                shown.get(key),
                candidate.score if candidate else None,
                standing[key],
                tuple(candidate.places) if candidate else (),
                tuple(candidate.steps) if candidate else (),
            )
        )
    entry = search.reader.catalogue.document(document_id)
    chunks = tuple(sorted(outcomes, key=_how_far))
    explained = Explanation(
        project=search.parts.project,
        query=search.request.query,
        document=document_id,
        title=entry.entry.fields.title if entry else document_id,
        found=bool(chunks) and chunks[0].rank is not None,
        top_k=search.limit,
        top_n=search.settings.search.top_n,
        failed=tuple(
            condition.written
            for condition in search.conditions
            if not set(keys) & set(search.meeting([condition]).tolist())
        ),
        chunks=chunks,
        notices=tuple(search.notices),
    )
    return replace(explained, why=why(explained, [one.name for one in able]))


def _standing(
    search: SearchState, strategies: Sequence[Strategy], keys: set[int]
) -> dict[int, tuple[StrategyRank, ...]]:
    """Find the rank of chunks among all, not only among those that fulfil the conditions."""
    places: dict[int, list[StrategyRank]] = {key: [] for key in keys}
    for strategy in strategies:
        ranking = strategy.rank(
            search.without_conditions(), max(1, search.reader.keyword.size), None
        )
        for rank, (key, score) in enumerate(ranking.scores, start=1):
            if key in places:
                places[key].append(StrategyRank(strategy.name, rank, score))
    return {key: tuple(found) for key, found in places.items()}


def _how_far(outcome: ChunkOutcome) -> tuple[int, float, int, int]:
    """Order results first, then what was dropped, then what was nearest to being found."""
    if outcome.rank is not None:
        return 0, outcome.rank, 0, outcome.first_line
    best = min((place.rank for place in outcome.standing), default=10**9)
    if outcome.score is not None:
        return 1, -outcome.score, best, outcome.first_line
    return 2, best, 0, outcome.first_line


def why(explanation: Explanation, strategies: Sequence[str]) -> str:
    """Say the reason that came first; `strategies` could rank the document."""
    best, failed = explanation.best, explanation.failed
    if best is None:
        return "It has no text that could be found."
    if best.rank is not None:
        ranks = ", ".join(map(_rank, best.standing))
        return f"It is result {best.rank}{f': {ranks}' if ranks else ''}."
    if len(failed) == 1:
        return f"The condition {failed[0]} keeps it out."
    if failed:
        return f"The conditions {', '.join(failed[:-1])} and {failed[-1]} keep it out."
    if best.steps and best.steps[-1].dropped:
        return _dropped(best, explanation.top_n)
    return _unplaced(explanation, strategies)


def _dropped(best: ChunkOutcome, top_n: int) -> str:
    step = best.steps[-1]
    chunk = f"Its best chunk ({best.lines})"
    if step.stage == "top_n":
        shown = "the first result is" if top_n == 1 else f"the first {top_n} are"
        return f"{chunk} came out at {step.dropped}, and only {shown} shown."
    return f"{chunk} was left out: {step.dropped} ({step.stage})."


def _unplaced(explanation: Explanation, strategies: Sequence[str]) -> str:
    best: dict[str, StrategyRank] = {}  # by strategy, of the chunk that it likes best
    for place in (place for outcome in explanation.chunks for place in outcome.standing):
        if place.strategy not in best or place.rank < best[place.strategy].rank:
            best[place.strategy] = place
    within = [place for place in best.values() if place.rank <= explanation.top_k]
    if within:  # it would have been handed over, had it been allowed to
        return f"It is {_rank(within[0])}, but no chunk of it fulfils all conditions at once."
    reasons = [
        _rank(best[strategy]) if strategy in best else f"not found {_HOW[strategy]}"
        for strategy in strategies
    ]
    said = f"It is not among the first {explanation.top_k} of any ranking"
    return f"{said}: {', '.join(reasons)}." if reasons else f"{said}."


def _rank(place: StrategyRank) -> str:
    in_teens = place.rank % 100 in {11, 12, 13}
    ending = "th" if in_teens else {1: "st", 2: "nd", 3: "rd"}.get(place.rank % 10, "th")
    return f"{place.rank:,}{ending} {_HOW[place.strategy]}"


_HOW = {one.name: one.meaning for one in STRATEGIES}
