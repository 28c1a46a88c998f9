"""Calls of methods that a server does not have never reach grpc's own loop over calls.

That loop, of grpcio's asyncio server, decodes the name of such a method as UTF-8, and a name that
is none ends the loop, and with it the server: one request of a stranger closes the API for good.
The methods that the server has are requested one by one and need no name. So the calls of all
others are taken out here, before their names are read, and answered by `refuse`.

Versions of grpcio that request every call in the same way decode names within the call, where a
failure ends that call alone: there nothing is taken out.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import grpc.aio

Refuse = Callable[[Any], Awaitable[None]]
_library: Any = importlib.import_module("grpc._cython.cygrpc")  # which has no types


def make_server(refuse: Refuse, **arguments: Any) -> grpc.aio.Server:
    """Return grpc.aio.server(**arguments), which has `refuse` answer calls of unknown methods.

    refuse: gets the call's context, and ends the call.
    """
    base: Any = _library.AioServer
    make_context: Any = getattr(_library, "_ServicerContext", None)
    if make_context is None or not hasattr(base, "_request_registered_call"):
        return grpc.aio.server(**arguments)

    class Server(base):  # type: ignore[misc]  # a class of the library's C code
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


async def _end(refuse: Refuse, context: Any) -> None:
    # A caller that has hung up makes its answer fail; there is nobody left to hear of it.
    with contextlib.suppress(Exception):
        await refuse(context)
