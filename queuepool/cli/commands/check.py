"""queuepool check: every problem of the settings and the servers, at once."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from itertools import starmap

from queuepool.cli.arguments import add_json
from queuepool.cli.commands.acl import ADMIN, variable
from queuepool.cli.display import output
from queuepool.cli.exits import Exit
from queuepool.cli.inspection import keyspace
from queuepool.cli.inspection.server_check import Finding, inspect
from queuepool.errors import ConfigurationError
from queuepool.settings.config import PoolConfig
from queuepool.verbs.acl import ROLES

OTHER_VARIABLES = frozenset((
    "QUEUEPOOL_GRPC", "QUEUEPOOL_GRPC_TOKEN", "QUEUEPOOL_GRPC_CA", "QUEUEPOOL_GRPC_CERT",
    "QUEUEPOOL_GRPC_KEY", "QUEUEPOOL_IMPORT_URL", "QUEUEPOOL_OUTBOX_DATABASE",
    "QUEUEPOOL_REDIS_SERVER",
    *map(variable, (*ROLES, ADMIN)),
))  # fmt: skip


# By their names: the library imports no process.
_OF_PROCESSES = (
    ("consumer.settings", "ConsumerSettings"),
    ("coordinator.settings", "CoordinatorSettings"),
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool check`."""
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Print what was found; fail when anything is an error."""
    from queuepool.settings.environment import load_pool_config

    findings = list(unknown_variables(os.environ))
    unreachable = False
    try:
        config = load_pool_config()
    except ConfigurationError as error:
        findings += [Finding("error", "settings", line) for line in error.problems]
    else:
        findings.append(Finding("ok", "settings", _describe(config)))
        for name, url in config.topology.servers.items():
            found = inspect(name, url, config)
            unreachable = unreachable or any("does not respond" in f.text for f in found)
            findings += found
        findings += starmap(Finding, keyspace.judge(config))
    errors = [f for f in findings if f.level == "error"]
    if arguments.json:
        output.print_json({"ok": not errors, "findings": [asdict(f) for f in findings]})
    else:
        _print(findings)
    if not errors:
        return Exit.OK
    if unreachable:
        return Exit.UNAVAILABLE
    return Exit.USAGE if all(f.where == "settings" for f in errors) else Exit.FAILED


def _print(findings: list[Finding]) -> None:
    for f in findings:
        output.say(f"{f.level:<8}{f.where}: {f.text}")
    counts = [(level, sum(f.level == level for f in findings)) for level in ("error", "warning")]
    output.say(
        ", ".join(f"{n} {level}{'s' * (n != 1)}" for level, n in counts if n) or "no problems found"
    )


def _describe(config: PoolConfig) -> str:
    names = ", ".join(config.topology.servers)
    space = config.keyspace
    count = config.topology.partitions
    return f"{count} partitions on {names}, stage {space.stage}, queue {space.queue}"


def unknown_variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a warning for each variable that nothing reads: a typing mistake.

    Of the pool's and the page's, all; of a process's, those that resemble a setting of it.
    """
    from queuepool.settings.environment import QueuePoolSettings
    from queuepool.settings.mistyped import mistyped, names_of
    from queuepool.web.settings import WebSettings

    known = {*names_of(QueuePoolSettings), *names_of(WebSettings), *OTHER_VARIABLES}
    for name in sorted(environment):
        if name.upper().startswith("QUEUEPOOL_") and name.upper() not in known:
            near = list(mistyped([name], QueuePoolSettings, WebSettings))
            text = near[0] if near else f"{name} is set, but there is no such setting"
            yield Finding("warning", "settings", text)
    for module, settings in _OF_PROCESSES:
        for text in mistyped(environment, getattr(import_module(module), settings)):
            yield Finding("warning", "settings", text)
