"""`dowse search`: the passages that answer a query."""

from __future__ import annotations

from functools import partial

import click

from dowse._interfaces.cli.asking import takes_query
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.nothing_found import kept_out_by, say_nothing_found
from dowse._interfaces.cli.formats import CARRY_NOTICES, FORMATS, LISTS, SAY_MATCH, Form
from dowse._interfaces.cli.last_results import remember
from dowse._interfaces.records import ResponseRecord
from dowse._model.display import NO_GOOD_MATCH
from dowse._search.present.budget import within_budget
from dowse._search.request import SearchRequest
from dowse._util.locations import locations
from dowse.errors import UsageError

_NOTHING_FOUND = 1

_EXAMPLES = """\
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


@click.command(cls=Command, shape=ResponseRecord, epilog=_EXAMPLES)
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
def command(
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

    In the query, "words in quotes" must follow each other, -word must not be there, restor* stands
    for all words that begin so, and tag:x, title:x, path:x, file:x, author:x and category:x must
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
    printed = Form(name, full or max_tokens is not None, explain)
    with call.progress() as announce, call.ask(partial(call.open_to_search, announce)) as engine:
        found = engine.search(request)
        shown = within_budget(found, max_tokens, printed.tokens) if max_tokens else found
        printed.show(call, shown, engine)
        if name in LISTS:
            remember(locations(), engine.project.name, found)
    if found.no_good_match and name not in SAY_MATCH:
        call.remark(NO_GOOD_MATCH)
    if found.hits and name != "md":
        call.remark(*kept_out_by(found))
    if not found.hits and name != "md":
        say_nothing_found(call, found, in_full=name == "text")
    if name not in CARRY_NOTICES:
        call.remark(*shown.notices)
    if call.verbose and not call.json:
        from dowse._interfaces.cli.draw.report import stage_times  # noqa: PLC0415  most calls do not ask

        call.remark(stage_times(found.seconds))
    return _NOTHING_FOUND if fail_on_empty and (found.no_good_match or not found.hits) else 0
