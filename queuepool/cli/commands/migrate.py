"""queuepool migrate: from a queue without partitions to partitions, phase by phase, and back."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict

from queuepool.cli.arguments import Actions, add_json, add_reason
from queuepool.cli.display import output
from queuepool.cli.display.names import key_of
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.migration import PHASES, Facts, Migration, Totals
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.pool import QueuePool
from queuepool.errors.escaping import shown
from queuepool.routing.slots import SLOTS
from queuepool.telemetry import printing

DESCRIPTION = (
    "Move a queue that started without partitions (QUEUEPOOL_PARTITIONED=false) to partitions, "
    "under load, and back until it is sealed. See docs/migration.md."
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `queuepool migrate`."""
    actions = Actions(parser)
    status = actions.add("status", run_status, "show the phase and the jobs on both sides")
    shift = actions.add("shift", run_shift, "route new jobs to partitions: a share, or keys")
    back = actions.add("rollback", run_rollback, "route new jobs to the legacy place again")
    seal = actions.add("seal", run_seal, "close the empty legacy place permanently")
    shift.add_argument("share", nargs="?", type=percent, metavar="PERCENT", help="such as 10%%")
    shift.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="KEY",
        help="jobs of this key, and of its slot",
    )
    back.add_argument(
        "share", nargs="?", type=percent, default=0.0, metavar="PERCENT",
        help="share that stays with partitions (default 0%%)",
    )  # fmt: skip
    for action in (shift, back):
        action.add_argument(
            "--without-consumers", action="store_true",
            help="even if the destination has no consumer",
        )  # fmt: skip
    add_reason(shift, "migrate shift", "share --key")
    add_reason(back, "migrate rollback", "share")
    add_reason(seal, "migrate seal")
    seal.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    for action in (status, shift, back, seal):
        add_json(action)


def percent(text: str) -> float:
    """Return a typed share."""
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,2})?)%?", text)
    if match is None or float(match[1]) > 100:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a share: use 0% to 100%")
    return float(match[1])


def run_status(arguments: argparse.Namespace) -> Exit:
    """Show where the migration stands."""
    with open_pool() as pool:
        return _tell(arguments, Migration(pool).facts())


def run_shift(arguments: argparse.Namespace) -> Exit:
    """Let new jobs of more slots go to partitions."""
    if (arguments.share is None) == (not arguments.key):
        raise CommandError("name a share, such as 10%, or keys (--key)", Exit.USAGE)
    with open_pool() as pool:
        migration = Migration(pool)
        facts = _open(migration)
        slots = facts.slots - _of_keys(pool, arguments.key)
        if arguments.share is not None:
            slots = facts.slots & _beyond(arguments.share)
            if arguments.share < facts.percent and not slots < facts.slots:
                raise CommandError(
                    f"{facts.percent:g} % have shifted already; `queuepool migrate rollback "
                    f"{arguments.share:g}%` goes back"
                )
        if facts.unowned and not arguments.without_consumers:
            named = ", ".join(map(str, facts.unowned[:10]))
            raise CommandError(
                f"no consumer owns partition {named}: start consumers with "
                "QUEUEPOOL_PARTITIONED=true first (phase 1), or use --without-consumers; nothing "
                "was shifted"
            )
        migration.set_legacy(facts, slots)
        return _tell(arguments, migration.facts())


def run_rollback(arguments: argparse.Namespace) -> Exit:
    """Let new jobs of more slots go to the legacy place."""
    with open_pool() as pool:
        migration = Migration(pool)
        facts = _open(migration)
        if not facts.legacy_owned and not arguments.without_consumers:
            raise CommandError(
                "the legacy place has no consumer: start one with QUEUEPOOL_PARTITIONED=false "
                "first, or use --without-consumers; nothing was rolled back"
            )
        migration.set_legacy(facts, facts.slots | _beyond(arguments.share))
        return _tell(arguments, migration.facts())


def run_seal(arguments: argparse.Namespace) -> Exit:
    """Close the legacy place."""
    with open_pool() as pool:
        migration = Migration(pool)
        facts = _open(migration)
        if not pool.config.topology.partitioned:
            raise CommandError(
                "this command itself runs with QUEUEPOOL_PARTITIONED=false: set it to true here, "
                "as in all other processes; nothing was sealed",
                Exit.USAGE,
            )
        if not arguments.yes:
            _confirm()
        migration.seal(facts)
        return _tell(arguments, migration.facts())


def _open(migration: Migration) -> Facts:
    facts = migration.facts()
    if facts.phase == 4:
        raise CommandError("the legacy place is sealed: this queue now has only partitions")
    return facts


def _of_keys(pool: QueuePool, keys: list[str]) -> frozenset[int]:
    return frozenset(pool.producer.route(key_of(key)).slot for key in keys)


def _beyond(share: float) -> frozenset[int]:
    """Return the slots that stay in the legacy place when this share is with partitions."""
    return frozenset(range(round(SLOTS * share / 100), SLOTS))


def _confirm() -> None:
    what = "Processes that still have QUEUEPOOL_PARTITIONED=false will be refused."
    if not printing.input_is_terminal():
        raise CommandError(f"{what} Confirm with --yes", Exit.USAGE)
    if printing.ask(f"{what} Seal? [y/N]").lower() not in ("y", "yes"):
        raise CommandError("nothing was sealed")


def _tell(arguments: argparse.Namespace, facts: Facts) -> Exit:
    total = facts.legacy.plus(facts.partitions)
    if arguments.json:
        output.print_json(
            {
                "phase": facts.phase,
                "name": PHASES[facts.phase],
                "percent": round(facts.percent, 2),
                "version": facts.record.version,
                "legacy": asdict(facts.legacy),
                "partitions": asdict(facts.partitions),
                "missing": total.missing,
                "unowned": list(facts.unowned),
                "legacy_owned": facts.legacy_owned,
            }
        )
        return Exit.OK
    output.say(
        f"phase {facts.phase}, {PHASES[facts.phase]}: new jobs of {facts.percent:g} % of the slots "
        "go to partitions"
    )
    for name, found in (("legacy", facts.legacy), ("partitions", facts.partitions)):
        output.say(f"{name:<11}{_line(found)}")
    if total.missing:
        output.remark(f"{total.missing:,} jobs are not accounted for: `queuepool audit`")
    if facts.unowned:
        output.remark(f"{len(facts.unowned)} partitions have no consumer")
    if facts.phase < 4 and not facts.legacy_owned:
        output.remark("the legacy place has no consumer")
    return Exit.OK


def _line(found: Totals) -> str:
    return (
        f"{found.enqueued:>10,} enqueued = {found.live:,} live + {found.dead:,} dead + "
        f"{found.ended:,} ended"
    )
