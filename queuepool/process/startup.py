"""What a process looks at before it begins: what no restart and no waiting can fix."""

from __future__ import annotations

import importlib
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, ScriptError, UnavailableError
from queuepool.verbs.producer import confirm


def refuse_servers_that_cannot_work(pool: QueuePool) -> None:
    """Raise ConfigurationError when a server answers, and can never do what is needed.

    One that is away, or refuses for now, is waited for elsewhere.
    """
    seen = set()
    for partition in pool.partitions():
        if partition.server not in seen:
            seen.add(partition.server)
            with suppress(UnavailableError, ScriptError):
                partition.run(confirm.load("observe"))  # every role may load


def import_app(names: str) -> None:
    """Import the modules that define tasks. Raises ConfigurationError: one line for any failure."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            importlib.import_module(name)
        except (Exception, SystemExit) as error:
            raise ConfigurationError(f"--app {name}: {_why(name, error)}") from error


def _why(name: str, error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and name.startswith(error.name):
        return (
            f"there is no such module here ({Path.cwd()}); name it as in `import`, without .py, "
            "and run in its directory or set PYTHONPATH"
        )
    text = " ".join(str(error).split())[:500]
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno}): fix the module"
    return f"its import failed: {type(error).__name__}: {text}{_place(error)}"


def _place(error: BaseException) -> str:
    """Return the last line of the user's own code on the way to an error, if it is known."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
