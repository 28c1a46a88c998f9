"""The commands of `queuepool`, one file each: its arguments, and the function that runs it.

Such a file has `declare(parser)`, which adds its arguments, and `run(arguments)`, or an action for
each function to run; a DESCRIPTION opens its help where the line below says too little. It is
imported when its command is typed: `--help` shows the lines below and imports none of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Command(NamedTuple):
    """One command. module: its file in this folder; None: its arguments are read elsewhere."""

    name: str
    help: str
    module: str | None


COMMANDS: Final = (  # in the order of `queuepool --help`
    Command("demo", "watch 100,000 jobs being spread over workers that rise and fall", "demo.main"),
    Command("up", "run a whole cluster on this machine until Ctrl-C", "up"),
    # main() hands the words behind these two over unread.
    Command("consumer", "run one consumer: it owns a partition and runs its jobs", None),
    Command("coordinator", "run one coordinator: it decides on worker counts", None),
    Command("bulk", "enqueue a job for each row of a file", "bulk"),
    Command("job", "look at or cancel one job", "job"),
    Command("group", "look at, wait for or cancel a group", "group"),
    Command("status", "show every partition once", "status"),
    Command("watch", "show every partition, live, until Ctrl-C", "watch"),
    Command("scale", "set a partition's workers by hand for a time", "scale"),
    Command("dead", "list, show, replay or discard dead jobs", "dead"),
    Command("check", "check settings and servers: every problem", "check"),
    Command("audit", "look for what should be impossible", "audit"),
    Command(
        "acl", "print a server's users, one a role, with just the rights that each needs", "acl"
    ),
)
