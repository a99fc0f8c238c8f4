"""`dowse search`, `answer`, `explain`: what the documents say to a query, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace
from rich.text import Text

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw import (
    Part,
    as_json,
    folded,
    line,
    marked,
    sentence,
    stage_times,
    table,
)
from dowse._interfaces.cli.options import document_ids, takes_query
from dowse._interfaces.records import with_path, with_paths
from dowse._interfaces.served import ask
from dowse._model import (
    ChunkOutcome,
    Explanation,
    Hit,
    Match,
    Response,
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
from dowse._util.messages import counted, safe
from dowse.errors import UsageError

_NOTHING_FOUND = 1  # the exit code of --fail-on-empty
_BEST = 5  # chunks that `explain` shows without --all

FORMATS = ("text", "json", "jsonl", "md", "files", "grep")
"""For people, for programs (one document, or one line per result), for models, for pipes."""


@click.command(cls=Command, record=Response)
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
    "--fail-on-empty", is_flag=True, help="Exit with 1 if nothing, or no good match, is found."
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
    result says how well it fits (strong, possible or weak) and why, its place and an id that `dowse
    get` takes. When even the best hardly fits, the list begins with "No good match".

    In the query, "words in quotes" must follow each other, -word must be absent, restor* matches
    words with that prefix, and tag:x, title:x, path:x, file:x, author:x and category:x must match.
    Any other field of the frontmatter works as well: status:draft, rating:>3 or [due date:<today].
    OR, AND, NOT and parentheses combine them; line:(a b) finds both in one line.

    Outside any project's folder, all projects are searched, and each result names its project; -p
    all does so anywhere.

    A filter can take the place of the query. With --after or --before alone, the newest documents
    come first.

    Examples:
      dowse search "why do the masts carry no SIM card"
      dowse search get_station_by_id --mode code
      dowse search -n 10 --explain backup restore
      dowse search --tag database --after 2025 restore
      dowse search 'tag:database -draft "full dump" restor*'
      dowse search 'author:"field team" (mast OR station) NOT winter'
      dowse search --after "last week"        what changed, newest first
      dowse search --where "author=server team" restore
      dowse search --format md --max-tokens 2000 "restore a backup"
      dowse search --format files masts | xargs wc -l
      vim -q <(dowse search --format grep masts)
      dowse search --json "restore a backup" | jq -r ".hits[].path"
      dowse search -- --rebuild               a query that begins with a dash
    """
    name = call.choose_format(form) or "text"
    max_tokens = request.max_tokens
    if max_tokens and name in {"files", "grep"}:
        raise UsageError(f"--max-tokens cuts texts, and --format {name} has none.", "Use one.")
    call.alone = no_server
    found = shown = _found(call, request, name)
    if max_tokens:
        shown = within_budget(found, max_tokens, partial(_tokens, name, explain))
    if name == "text":
        call.out.show(
            draw_response(
                with_projects(shown),
                call.out.width,
                full=full or max_tokens is not None,
                explain=explain,
                links=call.out.links,
            )
        )
    elif call.out.is_terminal:
        call.out.write(safe(os.fsdecode(_data(name, shown, call.here))))
    else:
        call.out.write_bytes(_data(name, shown, call.here))
    _remark(call, name, found, shown.notices)
    return _NOTHING_FOUND if fail_on_empty and (found.no_good_match or not found.hits) else 0


def _found(call: Call, request: SearchRequest, name: str) -> Response:
    if (found := ask(call, "search", Response)) is not None:
        return found
    with call.progress() as announce, call.open_to_search(announce) as engine:
        found = engine.search(request)
        shows_paths = name in {"json", "jsonl", "files", "grep"} or call.out.links
        return with_paths(found, engine) if shows_paths else found


def _remark(call: Call, name: str, found: Response, notices: Iterable[str]) -> None:
    """Keep the list of results, and say on stderr what the form of the output does not say."""
    if name in {"text", "grep"}:  # people count them, to open one by its number
        call.remember(found)
    if found.no_good_match and name not in {"text", "json", "md"}:  # these say it themselves
        call.remark(NO_GOOD_MATCH)
    if found.hits and name != "md":
        call.remark(*_kept_out_by(found))
    if not found.hits and name != "md":
        _say_nothing_found(call, found, in_full=name == "text")
    if name not in {"json", "md"}:  # these have the notices in them
        call.remark(*notices)
    if call.verbose and not call.json:
        call.remark(stage_times(found.seconds))


def _data(name: str, response: Response, here: Path) -> bytes:
    """Write a response in a form for programs."""
    if name == "json":
        return as_json(response)
    if name == "jsonl":
        return b"".join(as_json(hit, line=True) for hit in response.hits)
    if name == "md":
        return as_markdown(with_projects(response)).encode("utf-8", "replace")
    files = [Path(hit.path) for hit in response.hits]
    lines = [os.fspath(path) for path in dict.fromkeys(files)]
    if name == "grep":
        lines = [
            grep_line(hit, str(path.relative_to(here) if path.is_relative_to(here) else path))
            for hit, path in zip(response.hits, files, strict=True)
        ]
    return b"".join(os.fsencode(one) + b"\n" for one in lines)


def _tokens(name: str, explain: bool, response: Response) -> int:
    """Count the tokens that a model takes for what it reads of this; of JSON, for the texts."""
    if name in {"json", "jsonl"}:
        return tokens_of_texts(response)
    if name == "md":
        return count_tokens(as_markdown(response))
    return count_tokens(
        "".join(
            f"{line.plain}\n" for line in draw_response(response, None, full=True, explain=explain)
        )
    )


@click.command(cls=Command, record=Response)
@takes_query("answer")
@pass_call
def answer_command(call: Call, request: SearchRequest) -> None:
    """Answer a question from the documents, with its sources.

    The answer is a sentence of the documents with the number of its source, or two if the second
    adds something. There is one only if the first result is strong and the sentence has the words
    that the question turns on; otherwise the nearest passage is shown. With answer.endpoint_url
    set, a language model writes the answer from the results.

    Outside any project's folder, all projects are asked; -p all does so anywhere.

    Examples:
      dowse answer "when is a full dump written"
      dowse answer --path guides/ "what must be stopped before a restore"
      dowse answer --set answer.sentences=5 "why do the masts carry no SIM card"
    """
    writer = {name: request.changes[name] for name in OF_THE_WRITER & request.changes.keys()}
    if (found := ask(call, "answer", Response)) is None:
        with call.progress() as announce, call.open_to_search(announce, writer) as engine:
            others = {name: one for name, one in request.changes.items() if name not in writer}
            found = engine.answer(replace(request, changes=others))
            found = with_paths(found, engine) if call.json else found
    record = within_texts(found, request.max_tokens)
    response = with_projects(record)
    call.answer(record, lambda width: _draw_answer(response, width))
    if not response.hits:
        _say_nothing_found(call, response, in_full=not call.json)
    elif response.answer is None:
        nothing = "no passage is a good match" if response.no_good_match else "no sentence is one"
        call.remark(f"No answer: {nothing}. The nearest passage:")
        call.show_aside(lambda width: draw_hits(response.hits[:1], width))
    if not call.json:
        call.remark(*response.notices)


def _draw_answer(response: Response, width: int | None) -> Iterator[Text]:
    answer = response.answer
    if answer is None:
        return
    for paragraph in answer.text.split("\n"):
        yield from sentence(width, paragraph)
    if answer.written_by:
        yield Text()
        yield from sentence(width, (f"Written by {answer.written_by} from these:", "dim"))
    yield Text()
    yield from draw_titles((response.hits[rank - 1] for rank in answer.sources), width)


@click.command(cls=Command, record=Explanation)
@takes_query("explain")
@click.option(
    "--doc",
    "--reference",
    "reference",
    required=True,
    metavar="DOC",
    shell_complete=document_ids,
    help="The document, written as for `dowse get`.",
)
@click.option("--all", "everything", is_flag=True, help="Show all of its chunks, not only 5.")
@pass_call
def explain_command(call: Call, request: SearchRequest, reference: str, everything: bool) -> None:
    """Say why a document is, or is not, among the results.

    The options are those of `dowse search`. The output says why in a sentence. Below it are the
    ranks of the document by each strategy, and the stage that dropped it.

    Examples:
      dowse explain "restore a backup" --doc guides/restore-the-database.md
      dowse explain masts --doc gateway-configuration --mode keyword --all
      dowse explain tag:gateway masts --doc Home --json
    """
    if (explanation := ask(call, "explain", Explanation, reference=reference)) is None:
        with call.progress() as announce, call.open_to_search(announce) as searched:
            engine = searched.having(reference, call.here)
            explanation = with_path(engine.explain(request, reference, here=call.here), engine)
    shown = len(explanation.chunks) if everything else _BEST
    call.answer(explanation, lambda width: _draw_explanation(explanation, shown, width))
    if not call.json:
        call.remark(*explanation.notices)


def _draw_explanation(explanation: Explanation, shown: int, width: int | None) -> Iterator[Text]:
    yield from sentence(width, (explanation.document, "cyan"), "  ", (explanation.title, "bold"))
    yield from sentence(width, explanation.why)
    for one in explanation.chunks[:shown]:
        yield Text()
        headings = header_line(one.header_path)
        above = (f"  {headings}" if headings else "", "dim")
        yield from sentence(width, (one.lines, "cyan"), "  ", (_outcome(one), "bold"), above)
        yield from draw_trace(one.trace, width, _INDENT, one.standing)
    left = len(explanation.chunks) - shown
    if left > 0:
        yield Text()
        yield from sentence(width, (f"{counted(left, 'chunk')} more: --all", "dim"))


def _outcome(chunk: ChunkOutcome) -> str:
    if chunk.rank is not None:
        return f"result {chunk.rank}"
    if chunk.steps and chunk.steps[-1].dropped:
        return f"dropped by {chunk.steps[-1].stage}"
    return "no candidate" if chunk.standing else "not found"


# ── Results, drawn: hits, how each came to its place, and what to say without any ────────────

_INDENT = 4
_ID_DIGITS = 8
_BARS: Mapping[Match, int] = {"strong": 3, "possible": 2, "weak": 1}  # cells that are full
_WORD = max(map(len, _BARS))
_SNIPPET_LINES = 2  # so that five results fit on a small terminal


def draw_response(
    response: Response,
    width: int | None,
    *,
    full: bool = False,
    explain: bool = False,
    links: bool = False,
) -> Iterator[Text]:
    """Draw what was found, and with `explain` how; dim if there is no good match."""
    if response.no_good_match:
        yield from sentence(width, (NO_GOOD_MATCH, "bold"))
    for drawn in draw_hits(response.hits, width, full=full, explain=explain, links=links):
        if response.no_good_match:
            drawn.stylize("dim")
        yield drawn
    if explain:
        yield from draw_account(response, width)


def draw_hits(
    hits: Sequence[Hit],
    width: int | None,
    *,
    full: bool = False,
    explain: bool = False,
    links: bool = False,
) -> Iterator[Text]:
    """Draw some results, best first, with a blank line between; `links` lead to their files."""
    for hit in hits:
        if hit is not hits[0]:
            yield Text()
        bar, word = "", str(hit.match)
        if width is not None:
            cells = _BARS[hit.match]
            bar, word = "▰" * cells + "▱" * (len(_BARS) - cells) + " ", f"{hit.match:<{_WORD}}"
        remarks = (f"{hit.score:.2f}" if explain else "", hit.reason)
        remarked = "".join(f"  {remark}" for remark in remarks if remark)
        yield from sentence(
            width,
            f"{hit.rank:>2}  ",
            (bar, "green"),
            (word, "bold"),
            "  ",
            (hit.title, "bold"),
            _stale(hit),
            (remarked, "dim"),
        )
        lines = f"{hit.first_line}-{hit.last_line}" if full else f"{hit.line}"
        yield from _draw_place(hit, lines, width, Path(hit.path).as_uri() if links else "")
        yield from sentence(width, (hit.context, "dim"), indent=_INDENT) if hit.context else []
        if full:
            for one in hit.text.strip("\n").split("\n"):
                drawn = sentence(width, one.expandtabs(4), indent=_INDENT)
                yield from drawn if one.strip() else [Text()]
        else:
            snippet = folded(marked(hit.snippet, "bold yellow"), width, _INDENT)
            yield from snippet if width is None else _at_most(_SNIPPET_LINES, snippet, width)
        if hit.more:
            yield from sentence(width, (also_at(hit), "dim"), indent=_INDENT)
        if explain:
            yield from draw_trace(hit.trace, width, _INDENT)


def draw_titles(hits: Iterable[Hit], width: int | None) -> Iterator[Text]:
    """Draw results by their titles and places alone, each under its number."""
    for hit in hits:
        yield from sentence(width, f"{hit.rank:>2}  ", (hit.title, "bold"), _stale(hit))
        yield from _draw_place(hit, f"{hit.line}", width)


def _stale(hit: Hit) -> tuple[str, str]:
    return ("  (changed since indexed)" if hit.stale else "", "red")


def _draw_place(hit: Hit, lines: str, width: int | None, address: str = "") -> Iterator[Text]:
    """Draw where a hit is: on one line with the headings above it, if they fit."""
    named = (hit.document, f"cyan link {address}" if address else "cyan")
    place = (place_of("", hit.page, lines), "cyan")
    # A path is never cut, whatever the width: people copy it.
    where = line(" " * _INDENT, named, place, "  ", (hit.id[:_ID_DIGITS], "dim"))
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


# ── How a candidate came to its place, and what the stages did ───────────────


def draw_trace(
    trace: Trace, width: int | None, indent: int, standing: Iterable[StrategyRank] = ()
) -> Iterator[Text]:
    """Draw its place in every strategy, then what each stage did to its score.

    `standing` has the ranks by strategies that did not hand it over.
    """
    from dowse._search.pipeline import SEARCH_FLOW  # noqa: PLC0415  a server may have explained it

    multipliers = {stage.name for stage in SEARCH_FLOW if stage.multiplies}
    ranked = {one.strategy: one.rank for one in standing}
    rows: list[tuple[Part, ...]] = []
    for place in trace.places:
        rank = place.rank or ranked.get(place.strategy)
        rows.append(
            (
                place.strategy,
                f"place {rank:,}" if rank else "further back",
                f"score {place.score:.3f}",
                f"gives {place.contribution:.4f}",
            )
        )
        ranked.pop(place.strategy, None)
    rows += [
        (one.strategy, f"place {one.rank:,}", f"score {one.score:.3f}", "not handed over")
        for one in standing
        if one.strategy in ranked
    ]
    for step in trace.steps:
        factor, became = "", f"dropped: {step.dropped}"
        if not step.dropped:
            became = f"→ {step.after:.4f}"
            if step.stage in multipliers and step.before > 0:
                factor = f"× {step.after / step.before:.2f}"
        rows.append((step.stage, factor, f"{step.before:.4f}", became))
    for drawn in table(rows, width and width - indent, right=(1, 2)):
        drawn.stylize("dim")
        yield Text(" " * indent) + drawn


def draw_account(response: Response, width: int | None) -> Iterator[Text]:
    """Draw how many candidates each stage left that ran, and how long it took."""
    rows: list[tuple[Part, ...]] = [
        (("stage", "bold"), ("candidates", "bold"), ("time", "bold"), ""),
        *(
            (
                stage,
                f"{response.counts[stage]:,}" if stage in response.counts else "",
                f"{spent * 1000:.1f} ms",
                "",
            )
            for stage, spent in response.seconds.items()
        ),
        ("all", "", f"{sum(response.seconds.values()) * 1000:.1f} ms", ""),
    ]
    yield Text()
    for drawn in table(rows, width, right=(1, 2)):
        drawn.stylize("dim")
        yield drawn
    if response.calibration:
        yield from sentence(width, (f"Scores: {response.calibration}.", "dim"))
    if response.merged:
        said = counted(response.merged, "result stands", "results stand")
        yield from sentence(width, (f"{said} for others that mean the same.", "dim"))


# ── When nothing was found: what came nearest, and what kept the rest out ────


def _say_nothing_found(call: Call, response: Response, *, in_full: bool) -> None:
    """Say that nothing was found, and why if that is known; `in_full` shows what was near."""
    if response.total:
        least = "" if response.total_is_exact else "at least "
        matching = f"{least}{counted(response.total, 'result')}"
        call.remark(f"Nothing is left after the first {response.offset}: there are {matching}.")
        return
    kept_out = _kept_out_by(response)
    hint = " Try other words, or see what is indexed: dowse ls"
    if kept_out or response.nearest or response.notices:
        hint = ""
    elif response.removed:
        hint = f" Try other words, or leave out {' and '.join(response.removed)}."
    call.remark(f"Nothing found.{hint}", *kept_out)
    if response.nearest and in_full:
        call.remark("The nearest results, below the minimum confidence:")
        call.show_aside(lambda width: draw_hits(response.nearest, width))


def _kept_out_by(response: Response) -> list[str]:
    """Write a sentence for each condition that excludes something better."""
    return [
        f"{condition} excluded {counted(count, 'passage')} that would otherwise match."
        for condition, count in response.removed.items()
        if count
    ]
