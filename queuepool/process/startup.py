"""Checks before a process begins, for problems that neither a restart nor waiting can fix."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic_settings import BaseSettings

from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, ScriptError, UnavailableError
from queuepool.settings.config import PoolConfig
from queuepool.settings.environment import QueuePoolSettings, load_pool_config
from queuepool.settings.mistyped import mistyped
from queuepool.verbs.producer import confirm

S = TypeVar("S")

_OURS = ("consumer", "coordinator", "queuepool")


def load_both(load_own: Callable[[], S]) -> tuple[S, PoolConfig]:
    """Return a process's own settings and those of the pool.

    Raises ConfigurationError with the problems of both.
    """
    problems: list[str] = []
    own, config = None, None
    try:
        own = load_own()
    except ConfigurationError as error:
        problems += error.problems
    try:
        config = load_pool_config()
    except ConfigurationError as error:
        problems += error.problems
    if own is None or config is None:
        raise ConfigurationError(*problems)
    return own, config


def warn_of_mistyped(log: logging.Logger, own: type[BaseSettings]) -> None:
    """Log variables that are almost those of the pool or of a process."""
    for sentence in mistyped(os.environ, QueuePoolSettings, own):
        log.warning("%s", sentence)


def refuse_servers_that_cannot_work(pool: QueuePool) -> None:
    """Raise ConfigurationError if a server answers but can never do what is needed.

    A server that is down, or refuses temporarily, is waited for elsewhere.
    """
    load_scripts(pool, ("observe",))


def load_scripts(pool: QueuePool, names: Sequence[str]) -> None:
    """Load scripts into each server, each in a call of its own; every role may.

    So over a slow link no later call has to carry one as well. A server that is down, or refuses
    temporarily, is passed over. Raises ConfigurationError for one that can never run them.
    """
    seen = set()
    for partition in pool.partitions():
        if partition.server not in seen:
            seen.add(partition.server)
            with suppress(UnavailableError, ScriptError):
                for name in names:
                    partition.run(confirm.load(name))


def import_app(names: str, given: str = "--app ") -> None:
    """Import the modules that define tasks. Raises ConfigurationError: one line for any failure.

    given: what the line has before a module's name.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:
            raise ConfigurationError(f"{given}{name}: {_why(name, error)}") from error


def note_of_taken(names: str) -> str:
    """Return, for an error, that a package of ours hides modules of these names; or nothing."""
    tops = {name.strip().partition(".")[0] for name in names.split(",")}
    taken = sorted(tops.intersection(_OURS))
    if not taken:
        return ""
    return f"; {taken[0]} is a package of queuepool: if yours has that name, give it another one"


def _why(name: str, error: BaseException) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and f"{name}.".startswith(f"{missing}."):
        return (
            f"there is no such module in {_here()}; name it as in `import`, without .py, "
            f"and run in its directory or set PYTHONPATH{note_of_taken(name)}"
        )
    text = " ".join(str(error).split())[:500]
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno}): fix the module"
    return f"its import failed: {type(error).__name__}: {text}{_place(error)}"


def _here() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return "the current directory, which has been removed"


def _place(error: BaseException) -> str:
    """Return the last line of the user's own code on the way to an error, if it is known."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
