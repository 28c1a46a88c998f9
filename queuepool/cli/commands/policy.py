"""queuepool policy: show and change how worker counts are decided, at run time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from queuepool.cli.arguments import Actions, add_grpc, add_json, add_reason, count
from queuepool.cli.display import output
from queuepool.cli.display.fields import print_fields, when
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.acting import act
from queuepool.cli.inspection.logged import me
from queuepool.cli.inspection.pools import check_known, open_pool
from queuepool.client.pool import QueuePool
from queuepool.client.scaling import Merge, ScalingRecords
from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.models import ScalingRecord
from queuepool.models.places import DEFAULT_POOL

if TYPE_CHECKING:
    from queuepool.rpc.client import QueuePoolClient

_RULES = "coordinator.core.overlays.values"  # by its name: the library imports no coordinator
_LONGEST_REASON = 200
Outcome = tuple[ScalingRecord, ScalingRecord]
DESCRIPTION = (
    "Show or set scaling: mode, limits, profile, schedule, budget, policy. Values set here "
    "override the settings of all coordinators immediately."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool policy`."""
    actions = Actions(parser)
    showing = actions.add("show", run_show, "show the values set and those in force")
    setting = actions.add("set", run_set, "set values: mode=hold, max_workers=128, budget=")
    add = setting.add_argument
    add("changes", nargs="*", metavar="NAME=VALUE", help="NAME= removes a value")
    add("--version", type=count, metavar="N", help="only if the record has this version (`show`)")
    add(
        "--replace",
        action="store_true",
        help="remove all values that are not given, even damaged ones",
    )
    add_reason(setting, "policy set", "changes --pool --replace")
    for action in (showing, setting):
        action.add_argument(
            "--pool", metavar="NAME", help="a worker pool other than the default one"
        )
        add_grpc(action)
        add_json(action)


def run_show(arguments: argparse.Namespace) -> Exit:
    """Show the scaling record, and what a coordinator makes of it."""
    record, held = act(
        arguments.grpc, partial(_ask, pool=arguments.pool), partial(_look, arguments.pool)
    )
    if arguments.json:
        output.print_json(_described(record) | {"in_force": held})
        return Exit.OK
    print_fields(_fields(record, held))
    if held is None:
        output.remark("no coordinator was reached, so its settings are not shown")
    return Exit.OK


def run_set(arguments: argparse.Namespace) -> Exit:
    """Change the scaling record."""
    changes = _changes(arguments.changes)
    if not changes and not arguments.replace:
        raise CommandError(
            "give at least one NAME=VALUE, such as mode=hold or max_workers=128 (NAME= removes "
            "a value), or --replace to remove all",
            Exit.USAGE,
        )
    before, after = change(
        arguments.grpc,
        changes,
        reason=arguments.reason,
        version=arguments.version,
        replace=arguments.replace,
        pool=arguments.pool,
    )
    changed = before.version != after.version
    if arguments.json:
        output.print_json({"changed": changed, "before": dict(before.values)} | _described(after))
        return Exit.OK
    if not changed:
        output.say("unchanged: it had these values already")
    for name in sorted({*before.values, *after.values}):
        old, new = before.values.get(name, "not set"), after.values.get(name, "not set")
        if old != new:
            output.say(output.clean(f"{name}: {old} -> {new}", 500))
    _remark_on_bounds(before, after)
    _remark_on_windows(before, after)
    return Exit.OK


def _remark_on_bounds(before: ScalingRecord, after: ScalingRecord) -> None:
    """Say what becomes of the other bound where only one of the two is set."""
    for one, other, side in (
        ("min_workers", "max_workers", "lower"),
        ("max_workers", "min_workers", "higher"),
    ):
        bound = after.values.get(one)
        if bound and bound != before.values.get(one) and other not in after.values:
            output.remark(
                f"{other} is not set: where that of the coordinator is {side} than {bound}, "
                f"it is {bound} as well; `queuepool policy show` tells which are in force"
            )


def _remark_on_windows(before: ScalingRecord, after: ScalingRecord) -> None:
    """Say which windows of a schedule that was set cannot open again."""
    text = after.values.get("schedule", "")
    if not text or text == before.values.get("schedule"):
        return
    try:
        windows = import_module(_RULES).parse({"schedule": text}).schedule
    except InvalidInputError:  # a coordinator of a later release took it
        return
    now_ms = round(time.time() * 1000)
    over = "; ".join(window.text for window in windows if window.is_over(now_ms))
    if over:
        output.remark(output.clean(f"in the past, so without effect: {over}", 500))


def _changes(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise CommandError(f"{shown(word)}: write NAME=VALUE, or NAME= to remove", Exit.USAGE)
        if name in found:
            raise CommandError(f"{shown(name)} is given twice", Exit.USAGE)
        found[name] = text
    return found


def _ask(
    client: QueuePoolClient, *, pool: str | None
) -> tuple[ScalingRecord, dict[str, Any] | None]:
    from queuepool.rpc.scaling import record_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    answer = client.GetPolicy(api.GetPolicyRequest(pool=pool or ""))
    held = answer.in_force
    if not answer.HasField("in_force"):
        return record_of(answer.record), None
    return record_of(answer.record), {
        "policy": held.policy,
        "policy_version": held.policy_version,
        "mode": held.mode,
        "profile": held.profile,
        "min_workers": held.limits.min_workers,
        "max_workers": held.limits.max_workers,
        "budget": held.budget if held.HasField("budget") else None,
        "open_windows": list(held.open_windows),
        "record_version": held.record_version,
        "problem": held.problem,
    }


def _look(pool: str | None) -> tuple[ScalingRecord, None]:
    with open_pool() as queue:
        return _records(queue, pool).read(), None


def _records(queue: QueuePool, pool: str | None) -> ScalingRecords:
    if pool is None:
        return ScalingRecords(*queue.system)
    check_known(queue, pool)
    return ScalingRecords(*queue.system_of(pool))


def change(
    given: str | None,
    changes: Mapping[str, str],
    *,
    reason: str = "",
    version: int | None = None,
    replace: bool = False,
    pool: str | None = None,
) -> Outcome:
    """Change the scaling record; returns it before and after. given: a coordinator's address."""
    return act(
        given,
        lambda client: _by_coordinator(
            client, changes, reason, version, replace=replace, pool=pool
        ),
        lambda: _directly(changes, reason, version, replace=replace, pool=pool),
    )


def _by_coordinator(
    client: QueuePoolClient,
    changes: Mapping[str, str],
    reason: str,
    version: int | None,
    *,
    replace: bool,
    pool: str | None,
) -> Outcome:
    from queuepool.rpc.scaling import record_of
    from queuepool.rpc.v1 import queue_pool_pb2 as api

    try:
        request = api.SetPolicyRequest(
            changes=changes, version=version, replace=replace, reason=reason, pool=pool or ""
        )
    except (ValueError, UnicodeError):
        raise CommandError("values and the reason must be text in UTF-8", Exit.USAGE) from None
    answer = client.SetPolicy(request)
    return record_of(answer.before), record_of(answer.after)


def _directly(
    changes: Mapping[str, str],
    reason: str,
    version: int | None,
    *,
    replace: bool,
    pool: str | None,
) -> Outcome:
    merge: Merge = partial(import_module(_RULES).merged, pool=pool or DEFAULT_POOL)
    with open_pool() as queue:
        return _records(queue, pool).change(
            changes,
            merge,
            by=me(),
            reason=output.clean(reason, _LONGEST_REASON),
            version=version,
            replace=replace,
        )


def _described(record: ScalingRecord) -> dict[str, Any]:
    return {
        "version": record.version,
        "values": dict(record.values),
        "by": record.by,
        "reason": record.reason,
        "at_ms": record.at_ms,
        "problem": record.problem,
    }


def _fields(record: ScalingRecord, held: dict[str, Any] | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if held is not None:
        fields |= {
            "policy": f"{held['policy']}, version {held['policy_version']}",
            "mode": held["mode"],
            "profile": held["profile"],
            "workers": f"{held['min_workers']} to {held['max_workers']} a partition",
            "budget": "none"
            if held["budget"] is None
            else f"{held['budget']:,} for all partitions",
        }
        if held["open_windows"]:
            fields["open windows"] = "; ".join(held["open_windows"])
        if held["problem"]:
            fields["problem"] = held["problem"]
    elif record.problem:
        fields["problem"] = record.problem
    fields |= {f"set: {name}": text for name, text in sorted(record.values.items())}
    if not record.version:
        return fields | {"set": "nothing"}
    by = f" by {record.by}" if record.by else ""
    fields["set"] = f"{when(record.at_ms)}{by}" + (f": {record.reason}" if record.reason else "")
    return fields | {"version": str(record.version)}
