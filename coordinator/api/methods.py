"""Keeps calls of unknown methods away from grpc's own loop over calls.

That loop, in grpcio's asyncio server, decodes the name of such a method as UTF-8, and an invalid
name ends the loop and thus the server: a single request would close the API permanently. The
server's own methods are requested one by one and need no name. So calls of all others are removed
here, before their names are read, and answered by `refuse`.

Versions of grpcio that request every call in the same way decode names within the call, where a
failure only ends that call: there nothing is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import grpc.aio

Refuse = Callable[[Any], Awaitable[None]]
_LOOK_S = 1.0
_library: Any = importlib.import_module("grpc._cython.cygrpc")  # which has no types
# Whether this version of grpcio is one of those that need it.
TAKEN_OUT = hasattr(_library.AioServer, "_request_registered_call")


def make_server(refuse: Refuse, **arguments: Any) -> grpc.aio.Server:
    """Return grpc.aio.server(**arguments), in which `refuse` answers calls of unknown methods.

    refuse: receives the call's context, and ends the call.
    """
    if not TAKEN_OUT:
        return grpc.aio.server(**arguments)
    base, make_context = _library.AioServer, _library._ServicerContext  # noqa: SLF001 - see above

    class Server(base):  # type: ignore[misc, valid-type]  # a class of the library's C code
        async def _request_call(self) -> Any:
            here = asyncio.get_running_loop()
            running = set[asyncio.Task[None]]()
            while True:
                call = await super()._request_call()
                context = make_context(call, None, None, here)
                task = here.create_task(_end(refuse, context))
                running.add(task)  # the event loop holds tasks weakly
                task.add_done_callback(running.discard)

    _library.AioServer = Server
    try:
        return grpc.aio.server(**arguments)
    finally:
        _library.AioServer = base


async def ended(server: grpc.aio.Server) -> None:
    """Return when a server has ended, whether asked to or not. May be cancelled."""
    # One that ended unexpectedly completes nothing while a caller holds a stream.
    running = getattr(getattr(server, "_server", None), "is_running", lambda: True)
    with contextlib.suppress(Exception):  # why it ended is in the log
        # Without a timeout, a wait that is cancelled would cancel the server's own end.
        while await server.wait_for_termination(timeout=_LOOK_S) and running():
            pass


async def _end(refuse: Refuse, context: Any) -> None:
    # If a caller has hung up, the reply fails, and no one needs to know.
    with contextlib.suppress(Exception):
        await refuse(context)
