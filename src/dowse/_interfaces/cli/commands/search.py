"""`dowse search`, `answer`, `explain`: what the documents say to a query, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace
from rich.style import Style
from rich.text import Text

from dowse._interfaces.cli.call import Call, as_json, as_json_line
from dowse._interfaces.cli.command import Command, pass_call
from dowse._interfaces.cli.draw.hits import (
    draw_hits,
    draw_response,
    draw_titles,
    draw_trace,
    kept_out_by,
    say_nothing_found,
)
from dowse._interfaces.cli.draw.text import folded, line, safe
from dowse._interfaces.cli.last_results import remember
from dowse._interfaces.cli.options import document_ids, takes_query
from dowse._interfaces.records import with_path, with_paths
from dowse._interfaces.served import ask
from dowse._model import Answer, ChunkOutcome, Explanation, Response, header_line
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
from dowse._util.locations import locations
from dowse._util.messages import counted
from dowse.errors import UsageError

_NOTHING_FOUND = 1  # the exit code of --fail-on-empty
_INDENT = 4
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
        remember(locations(), found)
    if found.no_good_match and name not in {"text", "json", "md"}:  # these say it themselves
        call.remark(NO_GOOD_MATCH)
    if found.hits and name != "md":
        call.remark(*kept_out_by(found))
    if not found.hits and name != "md":
        say_nothing_found(call, found, in_full=name == "text")
    if name not in {"json", "md"}:  # these have the notices in them
        call.remark(*shown.notices)
    if call.verbose and not call.json:
        from dowse._interfaces.cli.draw.report import stage_times  # noqa: PLC0415  most calls do not ask

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
        return b"".join(map(as_json_line, response.hits))
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
        call.show_aside(lambda width: draw_titles(enumerate(response.hits, start=1), width))
    if not call.json:
        call.remark(*response.notices)


def _draw_answer(answer: Answer, response: Response, width: int | None) -> Iterator[Text]:
    for paragraph in answer.text.split("\n"):
        yield from folded(line(paragraph), width)
    if answer.written_by:
        yield Text()
        yield from folded(line((f"Written by {answer.written_by} from these:", "dim")), width)
    yield Text()
    yield from draw_titles(((rank, response.hits[rank - 1]) for rank in answer.sources), width)


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
