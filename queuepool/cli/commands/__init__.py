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
    Command("consumer", "run one consumer, which owns a partition and runs its jobs", None),
    Command("coordinator", "run one coordinator, which decides worker counts", None),
    Command("bulk", "enqueue a job for each row of a file", "bulk"),
    Command("job", "find, show, cancel, edit or run jobs; their history", "job"),
    Command("jobs", "show the jobs that run", "jobs"),
    Command("errors", "count the errors of dead and retrying jobs", "errors"),
    Command("group", "list groups; show, wait for, configure or cancel one", "group"),
    Command("tenant", "show, hold, release or configure a tenant", "tenant"),
    Command("doctor", "say what is wrong, since when, and what remedies it", "doctor"),
    Command("advise", "say what makes partitions hot, and what to move", "advise"),
    Command("log", "say who did what and why, and what happened", "log"),
    Command("status", "show every partition", "status"),
    Command("watch", "show every partition, live, until Ctrl-C", "watch"),
    Command("scale", "set a partition's workers manually for a limited time", "scale"),
    Command("drain", "have the consumer of a partition end its jobs and leave", "drain"),
    Command("why", "explain the workers of a partition, now or at a time", "why"),
    Command("decisions", "list scaling decisions, the newest first", "decisions"),
    Command("policy", "show or set how worker counts are decided, at run time", "policy"),
    Command("simulate", "run scaling policies on a load in virtual time", "simulate"),
    Command("what-if", "foretell when present jobs end, now and otherwise", "what_if"),
    Command("faults", "run your handlers under kills, second deliveries and more", "faults"),
    Command("shadow", "run a policy beside the live one, and compare them", "shadow"),
    Command("record", "write what a coordinator sees and decides into a file", "record"),
    Command("replay", "decide a recording again, by its policy or another one", "replay"),
    Command("hold", "start no more jobs of a group, a partition or all", "hold"),
    Command("release", "end the hold of a group, a partition or all", "release"),
    Command("limit", "list, show, set, pause or remove limits of rate and concurrency", "limit"),
    Command("flow", "list, show or cancel batches of jobs with a continuation", "flow"),
    Command("schedule", "list, show, set, pause, run or remove schedules of jobs", "schedule"),
    Command("relay", "move jobs from an outbox in a database to their partitions", "relay"),
    Command("partitions", "show partitions, or have more or fewer of them", "partitions"),
    Command("move", "move partitions to a server, or slots to a partition", "move"),
    Command("moves", "show, follow or abort a move between partitions", "moves"),
    Command("migrate", "move a queue without partitions to partitions, and back", "migrate"),
    Command("import", "move waiting jobs in from Celery, RQ, BullMQ or arq", "import_jobs"),
    Command("dead", "list, show, sum up, replay or discard dead jobs", "dead"),
    Command("web", "serve the page: what the queue does, live, and acts on it", "web"),
    Command("check", "check settings and servers, and report every problem", "check"),
    Command("audit", "check partitions for inconsistencies", "audit"),
    Command("protocol", "show the Lua script of a verb, as servers run it", "protocol"),
    Command("acl", "print a server's users, one per role, with least privilege", "acl"),
)
