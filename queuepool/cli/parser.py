"""What can be typed: every command with its arguments, and the function that runs it."""

from __future__ import annotations

import argparse
from typing import Any

from queuepool.cli.display.durations import parse_duration
from queuepool.cli.exits import epilogue
from queuepool.errors import shown
from queuepool.telemetry import printing

_MOST = 2**62
_LONGEST_S = 36_500 * 86400  # no clock of a thread waits for longer than 292 years

_DESCRIPTION = """\
Partitioned background jobs for bulk work, on Redis or Valkey.

The commands find their server in QUEUEPOOL_URL (or QUEUEPOOL_SERVERS), else in the cluster that
`queuepool up` runs in the current directory.
"""


def build_parser() -> printing.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = printing.ArgumentParser(
        prog="queuepool",
        description=_DESCRIPTION,
        epilog=epilogue(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    _clusters(commands)
    _work(commands)
    _views(commands)
    _dead(commands)
    _care(commands)
    return parser


def _version() -> str:
    from queuepool import __version__

    return f"queuepool {__version__}"


def _command(commands: Any, name: str, run: str, help: str, **options: Any) -> Any:  # noqa: A002
    """Add one command; `run` is MODULE:FUNCTION inside queuepool.cli."""
    parser = commands.add_parser(
        name,
        help=help,
        description=options.pop("description", help[0].upper() + help[1:] + "."),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **options,
    )
    parser.set_defaults(run=run)
    return parser


def _json(parser: Any, help: str = "print JSON for scripts") -> None:  # noqa: A002
    parser.add_argument("--json", action="store_true", help=help)


def _clusters(commands: Any) -> None:
    demo = _command(
        commands,
        "demo",
        "demo.main:run",
        "watch 100,000 jobs being spread over workers that rise and fall",
        description="Run a cluster of real processes for two minutes: bulk actions of 100,000 jobs "
        "in total,\nand small groups that pass them untouched. Nothing is left behind.",
    )
    demo.add_argument("--items", type=_positive, default=100_000, metavar="N", help="bulk jobs")
    demo.add_argument("--no-live", action="store_true", help="plain lines instead of a live view")
    _json(demo, "print the summary as one JSON object, the last line of standard output")

    up = _command(
        commands,
        "up",
        "up:run",
        "run a whole cluster on this machine until Ctrl-C",
        description="Run a server (unless one is given), a coordinator and a consumer for each "
        "partition,\nsupervised. Other commands in the same directory find the cluster by "
        "themselves.\nCtrl-C drains: running jobs end, the others wait for the next `up`.",
    )
    up.add_argument("--app", required=True, metavar="MODULE", help="modules with @task functions")
    up.add_argument("--partitions", type=_positive, metavar="N", help="default 4, a consumer each")
    up.add_argument(
        "--url",
        help="a Redis or Valkey to use instead of starting one; - reads it from standard input, "
        "since a password typed here is seen by all (else QUEUEPOOL_URL)",
    )
    up.add_argument(
        "--base-workers", type=_positive, metavar="N", help="workers of an idle consumer"
    )
    up.add_argument("--max-workers", type=_positive, metavar="N", help="workers at most")
    up.add_argument("--data-dir", metavar="DIR", help="jobs are kept here (.queuepool/data)")
    up.add_argument(
        "--drain",
        type=_duration,
        default=30.0,
        metavar="TIME",
        help="how long jobs may still run after Ctrl-C (default 30s)",
    )

    # Their arguments are their own; main() hands them over unread.
    commands.add_parser("consumer", help="run one consumer: it owns a partition and runs its jobs")
    commands.add_parser("coordinator", help="run one coordinator: it decides on worker counts")


def _work(commands: Any) -> None:
    bulk = _command(
        commands,
        "bulk",
        "bulk:run",
        "enqueue a job for each row of a file",
        description="Enqueue a job for each row of a CSV file with a header (fields are strings) "
        "or\neach object of a JSON lines file. The file is checked first: one bad row, and "
        "nothing is enqueued.",
    )
    bulk.add_argument("file", metavar="FILE", help="the file; - for standard input")
    bulk.add_argument("--task", required=True, metavar="NAME", help="the task that runs each job")
    bulk.add_argument("--key", required=True, metavar="KEY", help="partition key: names the group")
    bulk.add_argument(
        "--id",
        metavar="COLUMN",
        help="whose value tells the rows apart: a second run adds no row twice (default: the "
        "file's content and the row's line)",
    )
    bulk.add_argument("--wait", action="store_true", help="until all jobs have ended")
    bulk.add_argument("--timeout", type=_duration, metavar="TIME", help="of --wait")
    bulk.add_argument("--format", choices=("csv", "jsonl"), help="default: by the file's name")
    bulk.add_argument("--tier", choices=("critical", "high", "default", "low"))
    bulk.add_argument("--delay", type=_duration, metavar="TIME", help="before the jobs may run")
    bulk.add_argument("--max-attempts", type=_positive, metavar="N", help="executions at most")
    bulk.add_argument(
        "--skip", type=_count, default=0, metavar="N", help="leave out the first rows"
    )
    bulk.add_argument(
        "--wait-when-full",
        type=_duration,
        default=300.0,
        metavar="TIME",
        help="for room in a full partition (default 5m)",
    )
    bulk.add_argument(
        "--durability",
        choices=("fast", "replicated", "fsynced"),
        help="what an acknowledged job has survived (default: QUEUEPOOL_DURABILITY)",
    )
    _json(bulk)

    job = _command(commands, "job", "", "look at or cancel one job")
    _jobs_of(job, "job", ("show", "cancel"), "job_id")
    group = _command(commands, "group", "", "look at, wait for or cancel a group")
    _jobs_of(group, "group", ("show", "wait", "cancel"), None)


def _jobs_of(parser: Any, noun: str, verbs: tuple[str, ...], id_name: str | None) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    for verb in verbs:
        action = _command(actions, verb, f"jobs:{noun}_{verb}", f"{verb} a {noun}")
        if id_name:
            action.add_argument(id_name, metavar="ID")
            action.add_argument(
                "--key", metavar="KEY", help="its partition key; needed when several have this id"
            )
        else:
            action.add_argument("key", metavar="KEY", help="the partition key")
        if verb == "wait":
            action.add_argument("--timeout", type=_duration, metavar="TIME")
        _json(action)


def _views(commands: Any) -> None:
    status = _command(commands, "status", "status:run", "show every partition once")
    _grpc(status)
    _json(status)
    watch = _command(commands, "watch", "watch:run", "show every partition, live, until Ctrl-C")
    watch.add_argument("--interval", type=_duration, default=1.0, metavar="TIME", help="default 1s")
    watch.add_argument("--for", dest="duration", type=_duration, metavar="TIME", help="then stop")
    _grpc(watch)
    _json(watch, "print a JSON object a line and interval")
    scale = _command(
        commands,
        "scale",
        "scale:run",
        "set a partition's workers by hand for a time",
        description="Set a partition's workers by hand for a time; automatic scaling resumes "
        "afterwards.",
    )
    scale.add_argument("partition", type=_count, metavar="PARTITION")
    scale.add_argument("workers", type=_positive, nargs="?", metavar="N")
    scale.add_argument("--auto", action="store_true", help="return to automatic scaling now")
    scale.add_argument(
        "--for", dest="duration", type=_duration, default=600.0, metavar="TIME", help="default 10m"
    )
    _grpc(scale)
    _json(scale)


def _grpc(parser: Any) -> None:
    parser.add_argument(
        "--grpc",
        metavar="HOST:PORT",
        help="the coordinator (QUEUEPOOL_GRPC); without one the servers are asked directly",
    )


def _dead(commands: Any) -> None:
    dead = _command(commands, "dead", "", "list, show, replay or discard dead jobs")
    actions = dead.add_subparsers(metavar="ACTION", required=True)
    for verb, what in (
        ("list", "list dead jobs, the oldest first"),
        ("show", "show dead jobs with payload and error"),
        ("replay", "run dead jobs again, with a clean record"),
        ("discard", "delete dead jobs for good"),
    ):
        action = _command(actions, verb, f"dead:run_{verb}", what)
        action.add_argument("ids", nargs="*", metavar="ID")
        action.add_argument("--partition", type=_count, metavar="N")
        action.add_argument("--task", metavar="NAME")
        action.add_argument("--key", metavar="KEY", help="of this partition key")
        action.add_argument("--error", metavar="TEXT", help="whose reason or error has this in it")
        action.add_argument("--older-than", type=_duration, metavar="TIME", help="dead for so long")
        if verb == "list":
            action.add_argument("--limit", type=_positive, default=50, help="default 50")
        if verb in ("replay", "discard"):
            action.add_argument("--all", action="store_true", help="all that the filters leave")
        if verb == "discard":
            action.add_argument("--yes", action="store_true", help="do not ask")
        _json(action)


def _care(commands: Any) -> None:
    check = _command(commands, "check", "check:run", "check settings and servers: every problem")
    _json(check)
    audit = _command(commands, "audit", "jobs:audit", "look for what should be impossible")
    audit.add_argument("--partition", type=_count, metavar="N", help="default: all")
    audit.add_argument("--repair", action="store_true", help="and fix it")
    _json(audit)
    acl = _command(
        commands,
        "acl",
        "acl:run",
        "print a server's users, one a role, with just the rights that each needs",
        description="Print users for producers, consumers, coordinators and operators, with just "
        "the rights\nthat each needs. Passwords, or # and their SHA-256, are read from "
        "QUEUEPOOL_ACL_PRODUCER,\n_CONSUMER, _COORDINATOR, _OPS_READ, _OPS and _ADMIN; those "
        "that are missing are made\nand printed on standard error.",
    )
    acl.add_argument("--stage", metavar="NAME", help="default: QUEUEPOOL_STAGE, or dev")
    acl.add_argument("--queue", metavar="NAME", help="default: QUEUEPOOL_QUEUE, or main")
    acl.add_argument(
        "--format",
        choices=("aclfile", "setuser", "template"),
        default="aclfile",
        help="a server's ACL file (the default), commands for redis-cli, or a file without "
        "passwords",
    )
    acl.add_argument(
        "--newer", action="store_true", help="also what Valkey and Redis 7.2 know, but not 7.0"
    )
    acl.add_argument(
        "--fsynced",
        action="store_true",
        help="let producers see how the server fsyncs: QUEUEPOOL_DURABILITY=fsynced needs it",
    )


def _positive(text: str) -> int:
    number = _count(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _count(text: str) -> int:
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number") from None
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    if number > _MOST:
        raise argparse.ArgumentTypeError(f"must be at most {_MOST:,}")
    return number


def _duration(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds > _LONGEST_S:
        raise argparse.ArgumentTypeError(f"must be at most {_LONGEST_S // 86400}d")
    return seconds
