"""queuepool web: the page as a process of its own."""

from __future__ import annotations

import argparse
import logging
import os
import secrets
from importlib.util import find_spec

from queuepool.cli.arguments import count
from queuepool.cli.commands.up import link_to_page
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.settings import local_cluster as local
from queuepool.telemetry import printing

DESCRIPTION = """\
Serve the web page. It reads from a coordinator (--grpc, QUEUEPOOL_GRPC, or that of `queuepool up`
in this directory). Settings are QUEUEPOOL_WEB_* variables; without a token, and at an address that
only this machine reaches, a random one is generated and a sign-in link printed.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool web`."""
    add = parser.add_argument
    add("--host", help="address to listen at (QUEUEPOOL_WEB_HOST; default 127.0.0.1)")
    add("--port", type=count, help="port to listen at (QUEUEPOOL_WEB_PORT; default 7080)")
    add("--grpc", metavar="HOST:PORT", help="the coordinator (QUEUEPOOL_GRPC)")
    add(
        "--link", action="store_true",
        help="print a sign-in link for the page of `queuepool up` in this directory, and exit",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> Exit:
    """Serve the page until a signal."""
    if arguments.link:
        return _print_link()
    if any(find_spec(name) is None for name in ("jinja2", "starlette", "uvicorn")):
        raise CommandError("the page needs the extra `web`: pip install 'queuepool[web]'")
    from queuepool.process.startup import warn_of_mistyped
    from queuepool.settings.environment import load
    from queuepool.telemetry.logs import configure
    from queuepool.web.serving import serve
    from queuepool.web.settings import WebSettings, load_settings

    if arguments.grpc:
        os.environ["QUEUEPOOL_GRPC"] = arguments.grpc
    asked = {name: getattr(arguments, name) for name in ("host", "port")}
    given = {name: value for name, value in asked.items() if value is not None}
    wanted, made = load(WebSettings, given), ""
    if wanted.is_local and not wanted.knows_users:  # others than this machine need a real one
        given["token"] = made = secrets.token_urlsafe(32)
    settings = load_settings(given)
    configure(settings.log_format, "INFO")
    warn_of_mistyped(logging.getLogger("queuepool.web"), WebSettings)

    def said(address: str) -> None:
        output.say(f"page: {link_to_page(address, made) if made else address}")
        printing.flush()

    serve(settings, said)
    return Exit.OK


def _print_link() -> Exit:
    cluster = local.read()
    if cluster is None or not cluster.web_address or not cluster.web_token:
        raise CommandError("no `queuepool up` with a web page runs in this directory")
    output.say(link_to_page(cluster.web_address, cluster.web_token))
    return Exit.OK
