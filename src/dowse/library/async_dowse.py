"""dowse for programs with an event loop, of asyncio or trio.

`from dowse import AsyncDowse, AsyncAllDowse`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from anyio import to_thread

from dowse.library.all_dowse import AllDowse, OpeningAll
from dowse.library.dowse import Asking, Dowse, Opening
from dowse.types import Response
from dowse.wanted import until_given_up

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _awaited(
    method: Callable[Concatenate[Dowse, _P], _R],
) -> Callable[Concatenate[AsyncDowse, _P], Coroutine[Any, Any, _R]]:
    """A method of `Dowse` that runs in a thread; a call that is cancelled gives up its work."""

    @wraps(method)
    async def call(self: AsyncDowse, /, *arguments: _P.args, **keywords: _P.kwargs) -> _R:
        def work() -> _R:
            return method(self._opened(), *arguments, **keywords)

        return await _in_a_thread(work)

    return call


async def _in_a_thread(work: Callable[[], _R]) -> _R:
    with until_given_up():
        return await to_thread.run_sync(work, abandon_on_cancel=True)


class AsyncDowse:
    """The same as `Dowse`, with methods to be awaited; it is opened by the first of them."""

    def __init__(
        self, place: str | os.PathLike[str] | None = None, **opening: Unpack[Opening]
    ) -> None:
        self._open = partial(Dowse, place, **opening)
        self._lock = threading.Lock()
        self._dowse: Dowse | None = None

    @classmethod
    def open(cls, place: str | os.PathLike[str] | None = None, **opening: Unpack[Opening]) -> Self:
        """The same as calling the class: `async with AsyncDowse.open("notes") as notes: …`."""
        return cls(place, **opening)

    async def __aenter__(self) -> Self:
        await to_thread.run_sync(self._opened)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._opened().close()  # not awaited: a task that was cancelled can await nothing

    def _opened(self) -> Dowse:
        with self._lock:
            if self._dowse is None:
                self._dowse = self._open()
            return self._dowse

    index = _awaited(Dowse.index)
    search = _awaited(Dowse.search)
    answer = _awaited(Dowse.answer)
    explain = _awaited(Dowse.explain)
    get = _awaited(Dowse.get)
    related = _awaited(Dowse.related)
    documents = _awaited(Dowse.documents)
    list_documents = _awaited(Dowse.list_documents)
    tags = _awaited(Dowse.tags)
    folders = _awaited(Dowse.folders)
    fields = _awaited(Dowse.fields)
    graph = _awaited(Dowse.graph)
    status = _awaited(Dowse.status)
    path_of = _awaited(Dowse.path_of)
    close = _awaited(Dowse.close)


class AsyncAllDowse:
    """The same as `AllDowse`, with methods to be awaited."""

    def __init__(self, **opening: Unpack[OpeningAll]) -> None:
        self._all = AllDowse(**opening)

    async def search(self, query: str = "", **asking: Unpack[Asking]) -> Response:
        """The best passages of all projects; `Hit.project` names the one each is from."""
        return await _in_a_thread(partial(self._all.search, query, **asking))

    async def answer(self, query: str, **asking: Unpack[Asking]) -> Response:
        """The same, with what the passages say to the question in `Response.answer`."""
        return await _in_a_thread(partial(self._all.answer, query, **asking))

    async def close(self) -> None:
        """Closes all that were opened."""
        self._all.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._all.close()  # not awaited: a task that was cancelled can await nothing
