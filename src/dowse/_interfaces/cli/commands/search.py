"""`dowse search`, `answer`, `explain`: what the documents say to a query, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace
from rich.style import Style
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw import folded, line, marked, number, stage_times, table
from dowse._interfaces.cli.options import document_ids, takes_query
from dowse._interfaces.cli.screen import Part, as_json, safe
from dowse._interfaces.records import with_path, with_paths
from dowse._interfaces.served import ask
from dowse._model import (
    Answer,
    ChunkOutcome,
    Explanation,
    Hit,
    Match,
    Place,
    Response,
    Step,
    StrategyRank,
    Trace,
    also_at,
    header_line,
    place_of,
)
from dowse._model.search import NO_GOOD_MATCH
from dowse._search.answer import OF_THE_WRITER
from dowse._search.formats import (
    as_markdown,
    count_tokens,
    grep_line,
    tokens_of_texts,
    with_projects,
    within_budget,
    within_texts,
)
from dowse._search.request import SearchRequest
from dowse._util.messages import counted
from dowse.errors import UsageError

_NOTHING_FOUND = 1  # the exit code of --fail-on-empty
_BEST = 5  # chunks that `explain` shows without --all

FORMATS = ("text", "json", "jsonl", "md", "files", "grep")
"""For people, for programs (one document, or one line per result), for models, for pipes."""

_SEARCH_EXAMPLES = """\
\b
Examples:
  dowse search "why do the masts carry no SIM card"
  dowse search get_station_by_id --mode code
  dowse search -n 10 --explain backup restore
  dowse search --tag database --after 2025 restore
  dowse search 'tag:database -draft "point in time" restor*'
  dowse search 'status:draft (masts OR stations) NOT archive'
  dowse search --after "last week"        what changed, newest first
  dowse search --where "rating>3" restore
  dowse search --format md --max-tokens 2000 "restore a backup"
  dowse search --format files masts | xargs wc -l
  vim -q <(dowse search --format grep masts)
  dowse search --json "restore a backup" | jq -r ".hits[].path"
  dowse search -- --rebuild               a query that begins with a dash
"""


@click.command(cls=Command, record=Response, epilog=_SEARCH_EXAMPLES)
@takes_query("search")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Text for people, one JSON document, one line of JSON per result, Markdown for a model,"
    " only the paths of the files, or path:line:column:text as grep prints it.",
)
@click.option("--full", is_flag=True, help="Show whole passages in text, not only snippets.")
@click.option("--explain", is_flag=True, help="Show how each result got its rank.")
@click.option(
    "--fail-on-empty", is_flag=True, help="Exit with 1 when nothing, or no good match, is found."
)
@click.option(
    "--no-server",
    is_flag=True,
    help="Do not ask a running `dowse serve`; DOWSE_NO_SERVER=1 does the same.",
)
@pass_call
def search_command(
    call: Call,
    request: SearchRequest,
    *,
    form: str | None,
    full: bool,
    explain: bool,
    fail_on_empty: bool,
    no_server: bool,
) -> int:
    """Find the passages that answer a query.

    The query is a question, some words or a name from code; quotes around it are not needed. Each
    result says how well it fits (strong, likely or weak) and why, its place and an id that `dowse
    get` takes. When even the best hardly fits, the list begins with "No good match".

    In the query, "words in quotes" must follow each other, -word must not be there, restor* matches
    words with that prefix, and tag:x, title:x, path:x, file:x, author:x and category:x must
    hold. Any other field of the frontmatter can be asked for as well: status:draft, rating:>3 or
    [due date:<today]. OR, AND, NOT and parentheses join them; line:(a b) wants both in one line.

    Outside any project's folder, all projects are searched, and each result names its project; -p
    all does so anywhere.

    A filter can take the place of the query. With --after or --before alone, the newest documents
    come first.
    """
    name = call.choose_format(form) or "text"
    max_tokens = request.max_tokens
    if max_tokens and name in {"files", "grep"}:
        raise UsageError(f"--max-tokens cuts texts, and --format {name} has none.", "Use one.")
    call.alone = no_server
    found = _found(call, request, name)
    tokens = partial(_tokens, name, explain)
    shown = within_budget(found, max_tokens, tokens) if max_tokens else found
    _print(call, name, shown, full=full or max_tokens is not None, explain=explain)
    if name in {"text", "grep"}:  # people count them, to open one by its number
        call.remember(found)
    if found.no_good_match and name not in {"text", "json", "md"}:  # these say it themselves
        call.remark(NO_GOOD_MATCH)
    if found.hits and name != "md":
        call.remark(*kept_out_by(found))
    if not found.hits and name != "md":
        say_nothing_found(call, found, in_full=name == "text")
    if name not in {"json", "md"}:  # these have the notices in them
        call.remark(*shown.notices)
    if call.verbose and not call.json:
        call.remark(stage_times(found.seconds))
    return _NOTHING_FOUND if fail_on_empty and (found.no_good_match or not found.hits) else 0


def _found(call: Call, request: SearchRequest, name: str) -> Response:
    answered = ask(call, "search", Response, {})
    if answered:
        return answered[0]
    with call.progress() as announce, call.open_to_search(announce) as engine:
        found = engine.search(request)
        shows_paths = name in {"json", "jsonl", "files", "grep"} or call.out.links
        return with_paths(found, engine) if shows_paths else found


def _print(call: Call, name: str, response: Response, *, full: bool, explain: bool) -> None:
    """Print a response in a form; `full` and `explain` are for people."""
    if name == "text":
        drawn = draw_response(with_projects(response), call.out.width, full=full, explain=explain)
        files = {hit.document: Path(hit.path) for hit in response.hits}
        call.out.show(with_links(drawn, files) if call.out.links else drawn)
    elif call.out.is_terminal:
        call.out.write(safe(os.fsdecode(_data(name, response, call.here))))
    else:
        call.out.write_bytes(_data(name, response, call.here))


def _data(name: str, response: Response, here: Path) -> bytes:
    if name == "json":
        return as_json(response)
    if name == "jsonl":
        return b"".join(as_json(hit, line=True) for hit in response.hits)
    if name == "md":
        return as_markdown(with_projects(response)).encode("utf-8", "replace")
    files = [Path(hit.path) for hit in response.hits]
    if name == "files":
        return b"".join(os.fsencode(path) + b"\n" for path in dict.fromkeys(files))
    shown = [path.relative_to(here) if path.is_relative_to(here) else path for path in files]
    lines = map(grep_line, response.hits, map(str, shown))
    return b"".join(os.fsencode(one) + b"\n" for one in lines)


def _tokens(name: str, explain: bool, response: Response) -> int:
    """Count the tokens that a model takes for what it reads of this; of JSON, for the texts."""
    if name in {"json", "jsonl"}:
        return tokens_of_texts(response)
    if name == "md":
        return count_tokens(as_markdown(response))
    drawn = draw_response(response, None, full=True, explain=explain)
    return count_tokens("".join(f"{line.plain}\n" for line in drawn))


def with_links(lines: Iterable[Text], files: Mapping[str, Path]) -> Iterator[Text]:
    """Link each of these documents to its file (OSC 8) where a line names it."""
    longest_first = sorted(files, key=len, reverse=True)
    for drawn in lines:
        named = next((name for name in longest_first if _place_of_name(drawn, name) >= 0), None)
        if named is not None:
            start = _place_of_name(drawn, named)
            drawn.stylize(Style(link=files[named].as_uri()), start, start + len(named))
        yield drawn


def _place_of_name(drawn: Text, name: str) -> int:
    """Return where a line begins with a name, blanks aside; -1: it does not."""
    start = len(drawn.plain) - len(drawn.plain.lstrip())
    return start if drawn.plain.startswith(name, start) else -1


_ANSWER_EXAMPLES = """\
\b
Examples:
  dowse answer "how often is the rain gauge calibrated"
  dowse answer --path guides/ "what must be stopped before a restore"
  dowse answer --set answer.sentences=5 "why do the masts carry no SIM card"
"""


@click.command(cls=Command, record=Response, epilog=_ANSWER_EXAMPLES)
@takes_query("answer")
@pass_call
def answer_command(call: Call, request: SearchRequest) -> None:
    """Answer a question from the documents, with its sources.

    The answer is made of the documents' own sentences, each with the number of its source; with
    answer.endpoint_url set, a language model writes it from the results. When no passage is a good
    match, there is no answer, and the nearest passage is shown.

    Outside any project's folder, all projects are asked; -p all does so anywhere.
    """
    writer = {name: request.changes[name] for name in OF_THE_WRITER & request.changes.keys()}
    others = {name: value for name, value in request.changes.items() if name not in writer}
    answered = ask(call, "answer", Response, {})
    if answered:
        [found] = answered
    else:
        with call.progress() as announce, call.open_to_search(announce, writer) as engine:
            found = engine.answer(replace(request, changes=others))
            found = with_paths(found, engine) if call.json else found
    record = within_texts(found, request.max_tokens)
    answer, response = record.answer, with_projects(record)
    call.answer(record, lambda width: _draw_answer(answer, response, width) if answer else ())
    if not response.hits:
        say_nothing_found(call, response, in_full=not call.json)
    elif response.no_good_match:
        call.remark("No answer: no passage is a good match. The nearest:")
        call.show_aside(lambda width: draw_hits(response.hits[:1], width))
    elif answer is None:
        call.remark("No sentence of the results answers this. The nearest results:")
        call.show_aside(lambda width: draw_titles(response.hits, width))
    if not call.json:
        call.remark(*response.notices)


def _draw_answer(answer: Answer, response: Response, width: int | None) -> Iterator[Text]:
    for paragraph in answer.text.split("\n"):
        yield from folded(line(paragraph), width)
    if answer.written_by:
        yield Text()
        yield from folded(line((f"Written by {answer.written_by} from these:", "dim")), width)
    yield Text()
    yield from draw_titles((response.hits[rank - 1] for rank in answer.sources), width)


_EXPLAIN_EXAMPLES = """\
\b
Examples:
  dowse explain "restore a backup" --doc guides/restore.md
  dowse explain masts --doc gateway --mode keyword --all
  dowse explain tag:draft masts --doc gateway --json
"""


@click.command(cls=Command, record=Explanation, epilog=_EXPLAIN_EXAMPLES)
@takes_query("explain")
@click.option(
    "--doc",
    "--reference",
    "reference",
    required=True,
    metavar="DOC",
    shell_complete=document_ids,
    help="The document, as `dowse get` takes it.",
)
@click.option("--all", "everything", is_flag=True, help="Show all of its chunks, not only 5.")
@pass_call
def explain_command(call: Call, request: SearchRequest, reference: str, everything: bool) -> None:
    """Say why a document is, or is not, among the results.

    The same options as in `dowse search` give the same search. The output shows the rank of the
    document in each strategy, and the stage that dropped it.
    """
    told = ask(call, "explain", Explanation, {"reference": [reference]})
    if told:
        [explanation] = told
    else:
        with call.progress() as announce, call.open(announce=announce) as engine:
            explanation = engine.explain(request, reference, here=call.here)
            explanation = with_path(explanation, engine)
    shown = len(explanation.chunks) if everything else _BEST
    call.answer(explanation, lambda width: _draw_explanation(explanation, shown, width))
    if not call.json:
        call.remark(*explanation.notices)


def _draw_explanation(explanation: Explanation, shown: int, width: int | None) -> Iterator[Text]:
    named = line((explanation.document, "cyan"), "  ", (explanation.title, "bold"))
    yield from folded(named, width)
    yield from folded(line(explanation.why), width)
    for outcome in explanation.chunks[:shown]:
        yield Text()
        yield from _draw_fate(outcome, width)
    left = len(explanation.chunks) - shown
    if left > 0:
        yield Text()
        yield from folded(line((f"{counted(left, 'chunk')} more: --all", "dim")), width)


def _draw_fate(outcome: ChunkOutcome, width: int | None) -> Iterator[Text]:
    from dowse._search.explain import lines_of  # noqa: PLC0415  a search needs none of it

    headings = header_line(outcome.header_path)
    above = ("  " + headings if headings else "", "dim")
    yield from folded(
        line((lines_of(outcome), "cyan"), "  ", (_outcome_of(outcome), "bold"), above), width
    )
    yield from draw_trace(outcome.trace, width, _INDENT, outcome.standing)


def _outcome_of(outcome: ChunkOutcome) -> str:
    if outcome.rank is not None:
        return f"result {outcome.rank}"
    if outcome.steps and outcome.steps[-1].dropped:
        return f"dropped by {outcome.steps[-1].stage}"
    return "no candidate" if outcome.standing else "not found"


# ── Results, drawn: hits, how each came to its place, and what to say without any ────────────

_INDENT = 4
_ID_DIGITS = 8
_BARS: Mapping[Match, int] = {"strong": 3, "likely": 2, "weak": 1}  # cells that are full
_WORD = max(map(len, _BARS))
_SNIPPET_LINES = 2  # so that five results fit on a small terminal


def draw_response(
    response: Response, width: int | None, *, full: bool = False, explain: bool = False
) -> Iterator[Text]:
    """Draw what was found, and with `explain` how; dim if there is no good match."""
    drawn = draw_hits(response.hits, width, full=full, explain=explain)
    if response.no_good_match:
        yield from folded(line((NO_GOOD_MATCH, "bold")), width)
        drawn = map(_dimmed, drawn)
    yield from drawn
    if explain:
        yield from draw_account(response, width)


def draw_hits(
    hits: Sequence[Hit], width: int | None, *, full: bool = False, explain: bool = False
) -> Iterator[Text]:
    """Draw some results, best first, with a blank line between."""
    for hit in hits:
        if hit is not hits[0]:
            yield Text()
        bar = "" if width is None else _bar(hit.match)
        word = hit.match if width is None else f"{hit.match:<{_WORD}}"
        remarks = (f"{hit.score:.2f}" if explain else "", hit.reason)
        remarked = "".join(f"  {remark}" for remark in remarks if remark)
        named = (word, "bold"), "  ", (hit.title, "bold"), _stale(hit), (remarked, "dim")
        yield from folded(line(f"{hit.rank:>2}  ", bar, *named), width)
        yield from _draw_place(
            hit, f"{hit.first_line}-{hit.last_line}" if full else f"{hit.line}", width
        )
        yield from _draw_text(hit, width) if full else _draw_snippet(hit, width)
        if hit.more:
            yield from folded(line((also_at(hit), "dim")), width, _INDENT)
        if explain:
            yield from draw_trace(hit.trace, width, _INDENT)


def draw_titles(hits: Iterable[Hit], width: int | None) -> Iterator[Text]:
    """Draw results by their titles and places alone, each under its number."""
    for hit in hits:
        yield from folded(line(f"{hit.rank:>2}  ", (hit.title, "bold"), _stale(hit)), width)
        yield from _draw_place(hit, f"{hit.line}", width)


def _dimmed(text: Text) -> Text:
    text.stylize("dim")
    return text


def _stale(hit: Hit) -> tuple[str, str]:
    return ("  (changed since indexed)" if hit.stale else "", "red")


def _draw_snippet(hit: Hit, width: int | None) -> Iterator[Text]:
    snippet = folded(marked(hit.snippet, "bold yellow"), width, _INDENT)
    yield from snippet if width is None else _at_most(_SNIPPET_LINES, snippet, width)


def _draw_text(hit: Hit, width: int | None) -> Iterator[Text]:
    for one in hit.text.strip("\n").split("\n"):
        yield from folded(line(one.expandtabs(4)), width, _INDENT) if one.strip() else [Text()]


def _draw_place(hit: Hit, lines: str, width: int | None) -> Iterator[Text]:
    """Draw where a hit is: on one line with the headings above it, if they fit."""
    place = place_of("", hit.page, lines)
    # A path is never cut, whatever the width: people copy it.
    named = (hit.document, "cyan"), (place, "cyan")
    where = line(" " * _INDENT, *named, "  ", (hit.id[:_ID_DIGITS], "dim"))
    headings = line((header_line(hit.headings), "dim"))
    if headings and width is not None and where.cell_len + 2 + headings.cell_len <= width:
        yield where + Text("  ") + headings
    else:
        yield where
        yield from folded(headings, width, _INDENT) if headings else []


def _at_most(count: int, lines: list[Text], width: int) -> list[Text]:
    """Return the first lines, with a sign at the end when there are more."""
    if len(lines) > count:
        last = lines[count - 1]
        if last.cell_len > width - 2:
            last.truncate(width - 2)
            blank = last.plain.rfind(" ")
            if blank > len(last) // 2:  # else a script without blanks, cut anywhere
                last.right_crop(len(last) - blank)
        last.rstrip()
        last.append(" …")
    return lines[:count]


def _bar(match: Match) -> tuple[str, str]:
    full = _BARS[match]
    return "▰" * full + "▱" * (len(_BARS) - full) + " ", "green"


# ── How a candidate came to its place, and what the stages did ───────────────


def draw_trace(
    trace: Trace, width: int | None, indent: int, standing: Iterable[StrategyRank] = ()
) -> Iterator[Text]:
    """Draw its place in every strategy, then what each stage did to its score.

    `standing` has the ranks by strategies that did not hand it over.
    """
    from dowse._search.pipeline import SEARCH_FLOW  # noqa: PLC0415  a server may have explained it

    multipliers = {stage.name for stage in SEARCH_FLOW if stage.multiplies}
    ranked = {one.strategy: one for one in standing}
    rows = [_place_row(place, ranked.pop(place.strategy, None)) for place in trace.places]
    rows += [
        (one.strategy, f"place {number(one.rank)}", f"score {one.score:.3f}", "not handed over")
        for one in ranked.values()
    ]
    rows += [_step_row(step, step.stage in multipliers) for step in trace.steps]
    for one in table(rows, width and width - indent, right=(1, 2)):
        one.stylize("dim")
        yield Text(" " * indent) + one


def _place_row(place: Place, ranked: StrategyRank | None) -> tuple[Part, ...]:
    rank = place.rank or (ranked and ranked.rank)
    where = f"place {number(rank)}" if rank else "further back"
    return place.strategy, where, f"score {place.score:.3f}", f"gives {place.contribution:.4f}"


def _step_row(step: Step, multiplies: bool) -> tuple[Part, ...]:
    if step.dropped:
        return step.stage, "", f"{step.before:.4f}", f"dropped: {step.dropped}"
    factor = f"× {step.after / step.before:.2f}" if multiplies and step.before > 0 else ""
    return step.stage, factor, f"{step.before:.4f}", f"→ {step.after:.4f}"


def draw_account(response: Response, width: int | None) -> Iterator[Text]:
    """Draw how many candidates each stage left that ran, and how long it took."""
    heading: tuple[Part, ...] = (("stage", "bold"), ("candidates", "bold"), ("time", "bold"), "")
    rows = [heading]
    for stage, spent in response.seconds.items():
        left = number(response.counts[stage]) if stage in response.counts else ""
        rows.append((stage, left, f"{spent * 1000:.1f} ms", ""))
    rows.append(("all", "", f"{sum(response.seconds.values()) * 1000:.1f} ms", ""))
    yield Text()
    for one in table(rows, width, right=(1, 2)):
        one.stylize("dim")
        yield one
    if response.calibration:
        yield from folded(line((f"Scores: {response.calibration}.", "dim")), width)
    if response.merged:
        said = f"{counted(response.merged, 'result stands', 'results stand')} for others that mean"
        yield from folded(line((f"{said} the same.", "dim")), width)


# ── When nothing was found: what came nearest, and what kept the rest out ────


def say_nothing_found(call: Call, response: Response, *, in_full: bool) -> None:
    """Say that nothing was found, and why if that is known; `in_full` shows what was near."""
    if response.total:
        matching = (
            f"{'' if response.total_is_exact else 'at least '}{counted(response.total, 'result')}"
        )
        call.remark(f"Nothing is left after the first {response.offset}: there are {matching}.")
        return
    kept_out = kept_out_by(response)
    known = kept_out or response.nearest or response.notices
    call.remark("Nothing found." if known else f"Nothing found. {_hint(response)}", *kept_out)
    if response.nearest and in_full:
        call.remark("The nearest results, below the least confidence:")
        call.show_aside(lambda width: draw_hits(response.nearest, width))


def kept_out_by(response: Response) -> list[str]:
    """Write a sentence for each condition that excludes something better."""
    return [
        f"{condition} excluded {counted(count, 'passage')} that would otherwise match."
        for condition, count in response.removed.items()
        if count
    ]


def _hint(response: Response) -> str:
    if response.removed:
        return f"Try other words, or leave out {' and '.join(response.removed)}."
    return "Try other words, or see what is indexed: dowse ls"
