"""`dowse index`: create or update the index of a folder."""

from __future__ import annotations

import time
from pathlib import Path

import click

from dowse._interfaces.cli.call import Call, Command, pass_call
from dowse._interfaces.cli.draw.report import draw_report
from dowse._interfaces.cli.failures import Interrupted
from dowse._interfaces.records import IndexRecord
from dowse._model import Shard
from dowse._util.files import real_path

INCOMPLETE = 3
"""The exit code for: indexed, but some files were left out."""

_MOST = 100_000  # parts


class ShardType(click.ParamType[Shard]):
    """One of several parts of the documents, written as I/N."""

    name = "shard"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Shard:
        """The part that `3/16` means."""
        if isinstance(value, Shard):
            return value
        number, _, count = str(value).partition("/")
        if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= _MOST:
            return Shard(int(number), int(count))
        what = f"{value!r} is no part. Write it as 3/16, from 1/16 to 16/16."
        raise click.BadParameter(what, ctx, param)


_EXAMPLES = """\
\b
Examples:
  dowse index ~/notes              make a project of a folder, or update it
  dowse index                      update the project of the current folder
  dowse index -p work ~/a ~/b      one project over two folders
  dowse index --rebuild            rebuild it, after settings have changed
  dowse index --shard 3/16         index the third of sixteen parts
"""


@click.command(cls=Command, shape=IndexRecord, epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("--rebuild", is_flag=True, help="Empty the index first; known vectors are kept.")
@click.option(
    "--shard",
    type=ShardType(),
    metavar="I/N",
    help="Index only part I of N of the documents; other machines index the other parts.",
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for another process that is writing.",
)
@pass_call
def command(
    call: Call, paths: tuple[Path, ...], rebuild: bool, shard: Shard | None, wait: float
) -> int:
    """Create or update the index of a folder.

    PATH is a folder or a file. Without PATH, the project of the current folder is indexed. A folder
    that belongs to no project becomes a new project. Unchanged files are skipped. Ctrl-C is safe at
    any time. The exit code is 3 when files were left out. A file that is indexed with a remark is
    reported and does not change the exit code.

    With --shard, documents are divided by a hash of their ids. When an engine keeps the index
    (store.url), all parts can be indexed at once. Run dowse index without it after the last part.
    """
    began = time.perf_counter()
    given = [real_path(path) for path in paths]
    project, within = call.workspace.select_for_indexing(call.project, given, call.here)
    chosen = call.workspace.settings(project)
    call.say_withheld(project, chosen)
    with call.progress() as announce:
        try:
            with call.workspace.open_with(project, chosen, announce, fetch=True) as engine:
                report = engine.index(
                    within, rebuild=rebuild, shard=shard, wait=wait, announce=announce
                )
        except KeyboardInterrupt:
            raise Interrupted(
                "Stopped. Everything indexed so far is kept.",
                "Run the same command again to continue.",
            ) from None
    took = time.perf_counter() - began
    if not call.quiet or call.json:
        call.answer(
            IndexRecord.of(project, report),
            lambda width: draw_report(project.name, report, took, width, verbose=call.verbose),
        )
    call.remark(*report.notices)
    if shard is not None:
        call.remark(
            f"This was part {shard}. When all parts are done, finish the index with: dowse index"
            f" -p {project.name}"
        )
    return 0 if report.complete else INCOMPLETE
