"""queuepool audit: search for inconsistencies that should be impossible."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from queuepool.cli.arguments import add_json, add_reason, count
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.logged import begins
from queuepool.cli.inspection.pools import open_pool
from queuepool.client.pool import QueuePool
from queuepool.models import AuditReport
from queuepool.models.places import DEFAULT_POOL
from queuepool.partitions.partition import Partition
from queuepool.verbs.operator import verbs as operate

_Reports = Mapping[Partition, AuditReport]
_WrongKeys = Mapping[str, Sequence[str]]  # by pool of workers
_ROUTE = (
    "the route is never deleted, since only it says where jobs are: restore it from a backup; if "
    "no slot was ever moved, delete it, and the next process creates it"
)

_OLDER = (
    ", unless producers of an earlier release run: they count jobs that they add to a held group "
    "as ready. Such jobs do not start, and releasing the group corrects the count"
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool audit`."""
    parser.add_argument("--partition", type=count, metavar="N", help="default: all")
    parser.add_argument("--repair", action="store_true", help="and fix it")
    add_reason(parser, "audit", "--partition --repair", only="repair")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Exit:
    """Check whole partitions, and the keys of the queue itself, for inconsistencies."""
    with open_pool() as pool:
        one, repair = arguments.partition, arguments.repair
        chosen = pool.places(one)
        begins(arguments)
        reports = {p: p.audit(repair=repair) for p in chosen}
        wrong = {} if one is not None else _wrong_keys(pool, chosen, repair=repair)
    if arguments.json:
        output.print_json(_as_json(reports, wrong))
    else:
        _say(reports, wrong)
    if any("route" in keys for keys in wrong.values()):
        output.remark(_ROUTE)
    unclean = sum(not report.clean for report in reports.values())
    if (unclean or wrong) and repair:
        output.remark("fixed what could be fixed; run the command again to verify")
    elif unclean or wrong:
        subjects = [f"{unclean} partitions"] * bool(unclean) + ["keys of the queue"] * bool(wrong)
        only_counts = not wrong and all(
            report == AuditReport(miscounted=report.miscounted) for report in reports.values()
        )
        raise CommandError(
            f"{' and '.join(subjects)} are not clean; `queuepool audit --repair` fixes what it "
            f"can. Please report how it happened{_OLDER if only_counts else ''}."
        )
    return Exit.OK


def _wrong_keys(
    queue: QueuePool, places: Sequence[Partition], *, repair: bool
) -> dict[str, list[str]]:
    """Return the keys of the wrong type that belong to no partition, by pool of workers."""
    verb = operate.audit_system(queue.config.topology.partitions, repair=repair)
    found = {}
    for name in sorted({DEFAULT_POOL} | {place.pool for place in places}):
        server, key = queue.system_of(name)
        if keys := verb.read(server.run(key, [verb])[0]):
            found[name] = keys
    return found


def _say(reports: _Reports, wrong: _WrongKeys) -> None:
    for place, report in reports.items():
        found = ", ".join(f"{count:,} {name}" for name, count in asdict(report).items() if count)
        output.say(f"partition {place.name}: {found or 'clean'}")
    for name, keys in wrong.items():
        output.say(f"pool {name}: keys of the queue with a wrong type: {', '.join(keys)}")


def _as_json(reports: _Reports, wrong: _WrongKeys) -> list[dict[str, object]]:
    return [
        *(
            {"partition": p.number, "pool": p.pool, **asdict(r), "clean": r.clean}
            for p, r in reports.items()
        ),
        *(
            {"partition": None, "pool": name, "foreign": len(keys), "keys": keys, "clean": False}
            for name, keys in wrong.items()
        ),
    ]
