"""Cleans up in forked children what they must not share with their parent.

A fork copies everything: sockets that the parent reads from, ports it listens on, locks that other
threads held. Owners of such things register with `keep`; in each child `after_fork` is called on
them, in its only thread, before the child's Python code continues. A child that executes another
program inherits none of it: Python's descriptors are closed on exec.
"""

from __future__ import annotations

import contextlib
import os
import socket
import weakref
from typing import Any, Protocol


class Inherited(Protocol):
    """Something with an inherited part. `after_fork` takes no lock and never raises."""

    def after_fork(self) -> None:
        """Close what belongs to the parent, recreate locks."""


generation = 0  # forks between this process and the one that imported this module
_kept: weakref.WeakSet[Inherited] = weakref.WeakSet()


def keep(thing: Inherited) -> None:
    """Have `thing.after_fork()` called in every forked child, as long as it lives."""
    _kept.add(thing)


def close_inherited(held: Any) -> None:
    """Close a socket's copy in this process; the parent's connection continues. None is ignored."""
    if isinstance(held, socket.socket):
        with contextlib.suppress(OSError):
            held.close()  # no shutdown: that would close it for the parent, too


def _in_child() -> None:
    global generation  # noqa: PLW0603 - one number per process
    generation += 1
    for thing in list(_kept):
        with contextlib.suppress(Exception):
            thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
