"""The environment of a server process: how its memory allocator frees.

A server that is not built with jemalloc uses glibc's allocator. That keeps small freed blocks in
lists and merges all of them at once, while every thread that allocates waits. After a set of two
million ids was freed, on a thread of its own, that made every client wait for half a second.
Without these lists a block is merged when it is freed, and the same clients wait for 15 ms.
"""

import os

_TUNABLES, _LISTS = "GLIBC_TUNABLES", "glibc.malloc.mxfast"


def environment() -> dict[str, str]:
    """Return this process's environment, with glibc's lists of small blocks turned off.

    Unless it says something about these lists itself. Other allocators ignore it.
    """
    said = os.environ.get(_TUNABLES, "")
    if _LISTS in said:
        return dict(os.environ)
    return os.environ | {_TUNABLES: f"{said}:{_LISTS}=0".lstrip(":")}
