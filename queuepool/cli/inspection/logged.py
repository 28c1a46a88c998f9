"""Keeps in the log what a command does: who, to what, why, and what came of it.

A coordinator that does it for the command writes it; otherwise the command does, at its end. One
that may take long writes its begin, too (`begins`), right before it changes anything: killed at any
moment, it has left that, without an end. No act fails because the log cannot be written: that is
said, and no more.
"""

from __future__ import annotations

import argparse
import getpass
import platform
import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any

from queuepool.cli.arguments import Logged
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit, code_of
from queuepool.errors import QueuePoolError, ScriptError
from queuepool.models.durations import format_duration
from queuepool.models.log import LogEntry, LogKind
from queuepool.models.places import place_text
from queuepool.rpc.acting import Acting, acting

_TIMEOUT_S = 2.0
_LONGEST_REASON = 200
_LISTED = 5  # of a list of ids, say


def run_logged(arguments: argparse.Namespace, logged: Logged) -> Exit:
    """Run a command, and record in the log what it did."""
    arguments.reason = output.clean(arguments.reason, _LONGEST_REASON)
    if not _acts(arguments, logged):
        return _run(arguments)
    with acting(me(), "command", arguments.reason) as act:
        arguments.on_begin = lambda: _keep_begin(act, arguments, logged)
        try:
            code = _run(arguments)
        except KeyboardInterrupt:
            _keep(act, arguments, logged, _after(arguments, "interrupted"))
            raise
        except (CommandError, QueuePoolError) as error:
            ended = error.code if isinstance(error, CommandError) else code_of(error)
            # Of wrong arguments, or without the right to act, nothing was done.
            nothing = ended is Exit.USAGE or isinstance(error, ScriptError)
            if not nothing or _name(arguments):
                told = error.lines[0] if isinstance(error, CommandError) else str(error)
                failed = _after(arguments, f"failed: {told}")
                _keep(act, arguments, logged, failed, silently=ended is Exit.UNAVAILABLE)
            raise
        _keep(act, arguments, logged, getattr(arguments, "outcome", "done"))
        return code


def begins(arguments: argparse.Namespace) -> None:
    """Write into the log that a command which acts begins to change things, once."""
    on_begin, arguments.on_begin = getattr(arguments, "on_begin", None), None
    if on_begin is not None:
        on_begin()


def _keep_begin(act: Acting, arguments: argparse.Namespace, logged: Logged) -> None:
    name = secrets.token_hex(6)
    _keep(act, arguments, logged, f"begins (act {name})")
    arguments.act_name = name


def _name(arguments: argparse.Namespace) -> str:
    """Return the name of an act whose begin was written."""
    return getattr(arguments, "act_name", "")


def _after(arguments: argparse.Namespace, problem: str) -> str:
    """Return what a command did before it was aborted, and why it was."""
    done = getattr(arguments, "outcome", "")
    return f"{done}; {problem}" if done else problem


def me() -> str:
    """Return who runs this command, and where."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without names
        user = "somebody"
    return f"{user}@{platform.node()}"


def _run(arguments: argparse.Namespace) -> Exit:
    code: Exit = arguments.run(arguments)
    return code


def _acts(arguments: argparse.Namespace, logged: Logged) -> bool:
    if logged.unless and getattr(arguments, logged.unless):
        return False
    return not logged.only or any(getattr(arguments, name) for name in logged.only.split())


def _keep(
    act: Acting,
    arguments: argparse.Namespace,
    logged: Logged,
    outcome: str,
    *,
    silently: bool = False,
) -> None:
    if act.logged:
        return
    name = _name(arguments)
    if name:
        outcome = f"{outcome} (act {name})"
    entry = LogEntry(
        kind=LogKind.ACT,
        what=f"{logged.what} ended" if name else logged.what,
        subject=subject_of(arguments, logged.shows),
        who=act.who,
        via=act.via,
        why=act.why,
        outcome=outcome,
    )
    try:
        _write(entry)
    except Exception as error:  # whatever it is: the act itself is done
        if not silently:
            output.remark(output.clean(f"this could not be written to the log: {error}", 500))


def _write(entry: LogEntry) -> None:
    from queuepool.client import log
    from queuepool.client.pool import QueuePool
    from queuepool.settings.environment import load_pool_config

    config = load_pool_config()
    timeout_s = min(config.timeout_s, _TIMEOUT_S)
    with QueuePool(config=replace(config, timeout_s=timeout_s, retry_for_s=0.0)) as pool:
        pool.carry_out(log.write([entry]))


def subject_of(arguments: argparse.Namespace, shows: tuple[str, ...]) -> str:
    """Return on what a command acts, as its arguments say; =word stands for itself."""
    said = []
    for word in shows:
        option, _, name = word.partition(":")
        value = getattr(arguments, name or option.lstrip("-").replace("-", "_"), None)
        if word.startswith("="):
            said.append(word[1:])
        elif value is True:
            said.append(option)
        elif value is not None and value is not False and value not in ("", []):
            if option.startswith("--"):
                said.append(option)
                value = format_duration(value) if isinstance(value, float) else value
            said.append(_text(value))
    return " ".join(said)


def _text(value: Any) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _LISTED:,} more" if len(value) > _LISTED else ""
        return " ".join(map(str, value[:_LISTED])) + more
    if isinstance(value, tuple):
        return f"partition {place_text(*value)}"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return f"{value:g}" if isinstance(value, float) else str(value)
