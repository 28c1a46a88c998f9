"""What a forked child must not share with its parent, and how it learns that it is one.

A fork copies everything: sockets that the parent reads from, a port it listens on, locks that
other threads held. Whatever has such a thing registers with `keep`; in each child `after_fork` is
called on it, in the only thread there is, before Python code of the child continues. A child that
executes another program has none of it: descriptors of Python are closed on exec.
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
        """Close what belongs to the parent, make locks again."""


generation = 0  # forks between this process and the one that imported this module
_kept: weakref.WeakSet[Inherited] = weakref.WeakSet()


def keep(thing: Inherited) -> None:
    """Have `thing.after_fork()` called in every forked child, as long as it lives."""
    _kept.add(thing)


def close_inherited(held: Any) -> None:
    """Close a socket's copy in this process; the parent's connection continues. None is ignored."""
    if isinstance(held, socket.socket):
        with contextlib.suppress(OSError):
            held.close()  # no shutdown: that would end it for the parent, too


def _in_child() -> None:
    global generation  # noqa: PLW0603 - one number of the process
    generation += 1
    for thing in list(_kept):
        with contextlib.suppress(Exception):
            thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
