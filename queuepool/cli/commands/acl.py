"""queuepool acl: the users of a server, one per role, with exactly the permissions that each needs.

The rules go to standard output. Passwords come from the environment; generated ones go to standard
error, as lines that a shell can read.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import secrets
from collections.abc import Mapping

from queuepool.cli.display import output
from queuepool.cli.exits import Exit
from queuepool.protocol.keys import Keyspace
from queuepool.verbs.acl import ROLES, user_name

ADMIN = "admin"
_HASH = re.compile(r"#[0-9a-f]{64}")


DESCRIPTION = """\
Print users for producers, consumers, coordinators and operators, with the permissions
that each needs. Passwords, or # and their SHA-256, are read from QUEUEPOOL_ACL_PRODUCER,
_CONSUMER, _COORDINATOR, _OPS_READ, _OPS and _ADMIN; missing ones are generated
and printed on standard error.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool acl`."""
    add = parser.add_argument
    add("--stage", metavar="NAME", help="default: QUEUEPOOL_STAGE, or dev")
    add("--queue", metavar="NAME", help="default: QUEUEPOOL_QUEUE, or main")
    add(
        "--format",
        choices=("aclfile", "setuser", "template"),
        default="aclfile",
        help="a server's ACL file (the default), commands for redis-cli, or a file without "
        "passwords",
    )
    add(
        "--newer",
        action="store_true",
        help="also commands of Valkey and Redis 7.2 that Redis 7.0 lacks",
    )
    add(
        "--fsynced",
        action="store_true",
        help="let producers read the fsync settings, as QUEUEPOOL_DURABILITY=fsynced requires",
    )
    add(
        "--coordinator-cancels",
        action="store_true",
        help="let coordinators cancel batches, as gRPC CancelBatch requires",
    )
    add(
        "--coordinator-changes",
        action="store_true",
        help="the same, and let them replay, discard, edit and run jobs, as gRPC ReplayJobs, "
        "DiscardJobs, EditJob and RunJob require",
    )


def run(arguments: argparse.Namespace) -> Exit:
    """Print the rules of every role."""
    space = Keyspace(
        stage=arguments.stage or os.environ.get("QUEUEPOOL_STAGE") or "dev",
        queue=arguments.queue or os.environ.get("QUEUEPOOL_QUEUE") or "main",
    )
    options = {
        "newer": arguments.newer,
        "fsynced": arguments.fsynced,
        "cancels": arguments.coordinator_cancels,
        "changes": arguments.coordinator_changes,
    }
    if arguments.format == "template":
        output.say(*template(space, **options))
        return Exit.OK
    passwords = {role: os.environ.get(variable(role)) for role in (*ROLES, ADMIN)}
    if arguments.format == "setuser":
        del passwords[ADMIN]  # the server already has its users
    made = {role: secrets.token_urlsafe(32) for role, given in passwords.items() if not given}
    chosen = {role: given or made[role] for role, given in passwords.items()}
    lines = aclfile(space, chosen, **options)
    if arguments.format == "setuser":
        lines = [line.replace("user ", "ACL SETUSER ", 1) for line in lines[1:]]
    output.say(*lines)
    for role, password in made.items():
        output.remark(f"{variable(role)}={password}")
    return Exit.OK


def variable(role: str) -> str:
    """Return the environment variable that holds the password of a role's user."""
    return f"QUEUEPOOL_ACL_{role.upper().replace('-', '_')}"


def template(space: Keyspace, **options: bool) -> list[str]:
    """Return the roles as lines of a server's ACL file. No one can log in: they have no password.

    options: those of queuepool.verbs.acl.ServerRole.rules. Pure.
    """
    return [_line(name, space, "", options) for name in ROLES]


def aclfile(space: Keyspace, passwords: Mapping[str, str], **options: bool) -> list[str]:
    """Return a server's whole ACL file: no default user, the roles, and an administrator if given.

    passwords: role -> password, or # and its SHA-256 in hexadecimal. Pure.
    """
    roles = [_line(name, space, f"{hashed(passwords[name])} ", options) for name in ROLES]
    lines = ["user default reset off", *roles]
    if ADMIN in passwords:
        lines.append(f"user {ADMIN} reset on {hashed(passwords[ADMIN])} ~* &* +@all")
    return lines


def _line(role: str, space: Keyspace, secret: str, options: Mapping[str, bool]) -> str:
    rules = " ".join(ROLES[role].rules(space, **options))
    return f"user {user_name(role, space)} reset on {secret}{rules}"


def hashed(password: str) -> str:
    """Return a password as rules contain it."""
    if _HASH.fullmatch(password):
        return password
    return "#" + hashlib.sha256(password.encode()).hexdigest()
