"""A URL with a password on the command line, where every user of this machine can read it.

up --url -                     the URL is the first line of standard input
up --url redis://host          used unchanged: it has no secret
up --url redis://:pw@host      continues in the environment, which others cannot read, and says so
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.telemetry import printing

_LONGEST = 64 * 1024
_WARNING = (
    "warning: until now, every user of this machine could read the password in --url (ps), and "
    "your shell may keep it in its history. From here on it is only in the environment. Use "
    "QUEUEPOOL_URL or standard input (--url - < FILE), and change this password"
)


def settle(given: str) -> None:
    """Put the URL of --url into QUEUEPOOL_URL, replacing settings that name other servers.

    If it contains a password and is among the arguments of this process, this process restarts
    itself without it, and does not return. Raises CommandError.
    """
    url = _from_input() if given == "-" else given
    os.environ["QUEUEPOOL_URL"] = url
    for name in ("QUEUEPOOL_SERVERS", "QUEUEPOOL_PLACEMENT"):
        os.environ.pop(name, None)
    if given == "-" or not has_secret(url):
        return
    output.remark(_WARNING)
    words = without_url(sys.orig_argv, given)
    if words is not None and sys.executable:
        printing.flush()
        os.execv(sys.executable, words)


def _from_input() -> str:
    try:
        url = printing.read_line(_LONGEST)
    except UnicodeDecodeError:
        url = ""
    if not url or not url.isprintable():
        raise CommandError(
            "--url -: standard input has no URL in its first line; nothing was started", Exit.USAGE
        )
    return url


def has_secret(url: str) -> bool:
    """Return whether a URL contains a password, as far as it can be parsed. Pure."""
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query)
    except ValueError:
        return "@" in url or "password" in url
    # A single word before the @ is a user to the client, but often meant as a password.
    return bool(parts.username or parts.password) or any("password" in name for name, _ in options)


def without_url(words: Sequence[str], url: str) -> list[str] | None:
    """Return the arguments of a process without --url and its value; None: not among them. Pure."""
    left, found = list(words), False
    for option in ("--url", "--ur", "--u"):  # argparse accepts an abbreviation
        while f"{option}={url}" in left:
            left.remove(f"{option}={url}")
            found = True
        for place in range(len(left) - 2, -1, -1):
            if left[place : place + 2] == [option, url]:
                del left[place : place + 2]
                found = True
    return left if found else None
