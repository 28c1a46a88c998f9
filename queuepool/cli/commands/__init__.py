"""The commands of `queuepool`, one file each: its arguments, and the function that runs it.

Such a file has `declare(parser)`, which adds its arguments, and `run(arguments)`, or an action for
each function to run; a DESCRIPTION opens its help if the line below is too short. It is imported
when its command is used: `--help` shows the lines below and imports none of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Command(NamedTuple):
    """One command. module: its file in this folder; None: its arguments are parsed elsewhere."""

    name: str
    help: str
    module: str | None


COMMANDS: Final = (  # in the order of `queuepool --help`
    Command(
        "demo",
        "run a two-minute demo: 100,000 jobs and workers that scale up and down",
        "demo.main",
    ),
    Command("up", "run a whole cluster on this machine until Ctrl-C", "up"),
    # main() passes on the arguments of these two unparsed.
    Command("consumer", "run a consumer, which owns a partition and runs its jobs", None),
    Command("coordinator", "run a coordinator, which decides worker counts", None),
    Command("bulk", "enqueue a job for each row of a file", "bulk"),
    Command("job", "find, show, cancel, edit or run jobs; show their history", "job"),
    Command("jobs", "show running jobs", "jobs"),
    Command("errors", "count the errors of dead and retrying jobs", "errors"),
    Command("group", "list groups; show, wait for, configure or cancel a group", "group"),
    Command("tenant", "show, hold, release or configure a tenant", "tenant"),
    Command(
        "doctor", "diagnose problems: since when, their meaning, and how to fix them", "doctor"
    ),
    Command("advise", "show why partitions are overloaded, and what to move", "advise"),
    Command("log", "show operator actions and events", "log"),
    Command("status", "show every partition", "status"),
    Command("watch", "show every partition, live, until Ctrl-C", "watch"),
    Command("scale", "set a partition's workers manually for a limited time", "scale"),
    Command("drain", "have the consumer of a partition end its jobs and leave", "drain"),
    Command("why", "explain the worker count of a partition, now or at a given time", "why"),
    Command("decisions", "list scaling decisions, the newest first", "decisions"),
    Command("policy", "show or set how worker counts are decided, at run time", "policy"),
    Command("simulate", "run scaling policies on a load in virtual time", "simulate"),
    Command("what-if", "predict when jobs will finish, also with other limits", "what_if"),
    Command("faults", "test your handlers under kills, duplicate deliveries and more", "faults"),
    Command("shadow", "run a policy beside the live one, and compare them", "shadow"),
    Command("record", "record a coordinator's observations and decisions", "record"),
    Command("replay", "replay a recording with its own or another policy", "replay"),
    Command("hold", "pause a group, a task, a partition, a pool or everything", "hold"),
    Command(
        "release", "end the hold of a group, a task, a partition, a pool or everything", "release"
    ),
    Command("limit", "list, show, set, pause or remove rate and concurrency limits", "limit"),
    Command("flow", "list, show or cancel batches and flows", "flow"),
    Command("schedule", "list, show, set, pause, run or remove schedules", "schedule"),
    Command("relay", "enqueue jobs from an outbox in a database", "relay"),
    Command("partitions", "show partitions, or change their number", "partitions"),
    Command("move", "move partitions to another server, or slots to another partition", "move"),
    Command("moves", "show, follow or abort a move", "moves"),
    Command("migrate", "migrate an unpartitioned queue to partitions, and back", "migrate"),
    Command("import", "import waiting jobs from Celery, RQ, BullMQ or arq", "import_jobs"),
    Command("dead", "list, show, summarize, replay or discard dead jobs", "dead"),
    Command("web", "serve the web page", "web"),
    Command("check", "check settings and servers, and report all problems", "check"),
    Command("audit", "check partitions for inconsistencies", "audit"),
    Command("protocol", "show the Lua script of a verb, as servers run it", "protocol"),
    Command("acl", "print a server's users, one per role, with least privilege", "acl"),
)
