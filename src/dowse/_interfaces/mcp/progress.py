"""Progress of a call that takes long, for clients that ask for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

_T = TypeVar("_T")
INTERVAL = 0.5  # seconds between two reports
"""How often a call reports."""


def asks_for_progress(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client wants to hear how far its call is."""
    meta = context.meta or {}
    return "progress_token" in meta or "progressToken" in meta


async def while_reporting(
    context: ServerRequestContext[Any, Any],
    told: Callable[[], str],
    work: Callable[[], Awaitable[_T]],
) -> _T:
    """Does work; meanwhile the client hears now and then what `told` says."""
    outcome: list[_T] = []
    failure: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report, context, told)
        try:
            outcome.append(await work())
        except Exception as error:  # noqa: BLE001  raised again outside of the group, as it is
            failure.append(error)
        tasks.cancel_scope.cancel()
    if failure:
        raise failure[0]
    return outcome[0]


async def _report(context: ServerRequestContext[Any, Any], told: Callable[[], str]) -> None:
    """Reports seconds: they grow, as the protocol wants it, whatever stage a run is at."""
    passed = 0.0
    while asks_for_progress(context):
        await anyio.sleep(INTERVAL)
        passed += INTERVAL
        doing = await anyio.to_thread.run_sync(told, abandon_on_cancel=True)
        await context.session.report_progress(passed, None, doing)
