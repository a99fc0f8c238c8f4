"""`dowse answer`: what the documents say to a question."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click
from msgspec.structs import replace
from rich.text import Text

from dowse._interfaces.cli.asking import takes_query
from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.hits import draw_hits, draw_titles
from dowse._interfaces.cli.draw.nothing_found import say_nothing_found
from dowse._interfaces.cli.draw.text import folded, line
from dowse._interfaces.records import ResponseRecord
from dowse._model import Answer, Response
from dowse._search.answer.extract import OF_THE_WRITER
from dowse._search.present.budget import within_texts
from dowse._search.present.formats import with_projects
from dowse._search.request import SearchRequest

_EXAMPLES = """\
\b
Examples:
  dowse answer "how often is the rain gauge calibrated"
  dowse answer --path guides/ "what must be stopped before a restore"
  dowse answer --set answer.sentences=5 "why do the masts carry no SIM card"
"""


@click.command(cls=Command, shape=ResponseRecord, epilog=_EXAMPLES)
@takes_query("answer")
@pass_call
def command(call: Call, request: SearchRequest) -> None:
    """Answer a question from the documents, with its sources.

    The answer is made of the documents' own sentences, each with the number of its source; with
    answer.endpoint_url set, a language model writes it from the results. When no passage is a good
    match, there is no answer, and the nearest passage is shown.

    Outside any project's folder, all projects are asked; -p all does so anywhere.
    """
    writer = {name: request.changes[name] for name in OF_THE_WRITER & request.changes.keys()}
    others = {name: value for name, value in request.changes.items() if name not in writer}
    with (
        call.progress() as announce,
        call.ask(partial(call.open_to_search, announce, writer)) as engine,
    ):
        found = engine.answer(replace(request, changes=others))
        response = within_texts(found, request.max_tokens)
        shape = ResponseRecord.of(response, engine) if call.json else None
    answer, response = response.answer, with_projects(response)
    call.answer(shape, lambda width: _draw(answer, response, width) if answer else ())
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


def _draw(answer: Answer, response: Response, width: int | None) -> Iterator[Text]:
    for paragraph in answer.text.split("\n"):
        yield from folded(line(paragraph), width)
    if answer.written_by:
        yield Text()
        yield from folded(line((f"Written by {answer.written_by} from these:", "dim")), width)
    yield Text()
    yield from draw_titles(((rank, response.hits[rank - 1]) for rank in answer.sources), width)
