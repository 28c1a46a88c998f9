"""queuepool up: a whole cluster on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from queuepool.cli.arguments import duration, positive
from queuepool.cli.display import output
from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.pools import has_leader
from queuepool.cli.local import secret_url
from queuepool.cli.local.cluster import LocalClusterSpec, LocalProcesses
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.pools import parse_pools
from queuepool.servers.wire import display_name
from queuepool.settings import local_cluster as local
from queuepool.settings import private_files as private
from queuepool.settings.environment import QueuePoolSettings, load
from queuepool.telemetry import printing

_OF_PAGE = ("jinja2", "starlette", "uvicorn")
_STEP_S = 0.1
_READY_S = 30.0


class Interrupts:
    """Ctrl-C, SIGTERM and SIGHUP, counted: the first asks to stop, the second means now."""

    def __init__(self) -> None:
        self.count = 0
        self._event = threading.Event()

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        self.count += 1
        self._event.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the first signal; returns whether it came."""
        return self._event.wait(timeout_s)

    def hurry(self) -> bool:
        """Return whether to stop without waiting."""
        return self.count > 1

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Count signals instead of exiting."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self.note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


DESCRIPTION = """\
Run and supervise a server (unless one is given), a coordinator, and a consumer for each
partition. Other commands in the same directory find the cluster automatically.
Ctrl-C drains: running jobs finish, the others wait for the next `up`.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `queuepool up`."""
    add = parser.add_argument
    add("--app", required=True, metavar="MODULE", help="modules with @task functions")
    add("--partitions", type=positive, metavar="N", help="default 4, with one consumer each")
    add(
        "--url",
        help="a Redis or Valkey to use instead of starting one; - reads it from standard input, "
        "since a password given here is visible to all users (default: QUEUEPOOL_URL)",
    )
    add("--base-workers", type=positive, metavar="N", help="workers of an idle consumer")
    add("--max-workers", type=positive, metavar="N", help="maximum number of workers")
    add("--pools", metavar="POOLS", help="pools of each consumer: default=8..64,cpu=process:2..4")
    add(
        "--web",
        action=argparse.BooleanOptionalAction,
        help="also run the web page (default: if the extra queuepool[web] is installed)",
    )
    add("--data-dir", metavar="DIR", help="where jobs are stored (default .queuepool/data)")
    add(
        "--drain",
        type=duration,
        default=30.0,
        metavar="TIME",
        help="how long running jobs may take after Ctrl-C (default 30s)",
    )


def run(arguments: argparse.Namespace) -> Exit:
    """Run the cluster until a signal; 0 when all jobs that ran could end."""
    spec = _spec(arguments)
    interrupts = Interrupts()
    with _only_one(), interrupts.caught():
        cluster = LocalProcesses(spec, output.remark)
        try:
            cluster.start()
            _attend(cluster, interrupts)
        finally:
            if interrupts.count:
                output.remark("draining: waiting for running jobs (Ctrl-C again forces a stop)")
            with ExitStack() as ending:
                ending.callback(cluster.stop, interrupts.hurry)
                local.remove()
    output.remark("stopped" + ("" if spec.servers else f"; the jobs are kept in {spec.data_dir}"))
    return Exit.INTERRUPTED if interrupts.hurry() else Exit.OK


def _spec(arguments: argparse.Namespace) -> LocalClusterSpec:
    if arguments.partitions:  # before the settings are checked against each other
        os.environ["QUEUEPOOL_PARTITIONS"] = str(arguments.partitions)
    if arguments.url:
        secret_url.settle(arguments.url)
    settings = load(QueuePoolSettings)
    return LocalClusterSpec(
        app=arguments.app,
        partitions=settings.partitions,
        log_dir=local.STATE_DIR / "logs",
        servers=settings.server_urls,
        placement=settings.placement,
        stage=settings.stage,
        queue=settings.queue,
        data_dir=_data_dir(arguments.data_dir),
        base_workers=arguments.base_workers,
        max_workers=arguments.max_workers,
        pools=_pools(arguments),
        drain_s=arguments.drain,
        web=_with_page(arguments.web),
    )


def _with_page(wanted: bool | None) -> bool:
    missing = [name for name in _OF_PAGE if find_spec(name) is None]
    remedy = "needs the extra `web`: pip install 'queuepool[web]'"
    if wanted and missing:
        raise CommandError(f"--web {remedy}", Exit.USAGE)
    if wanted is None and missing:
        output.remark(f"no web page: it {remedy}")
    return not missing and wanted is not False


def _pools(arguments: argparse.Namespace) -> str | None:
    if arguments.pools is None:
        return None
    if arguments.base_workers or arguments.max_workers:
        raise CommandError(
            "--pools has the sizes: drop --base-workers and --max-workers", Exit.USAGE
        )
    try:
        names = [plan.name for plan in parse_pools(arguments.pools)]
    except ValueError as error:
        raise CommandError(f"--pools: {error}", Exit.USAGE) from None
    if DEFAULT_POOL not in names:
        raise CommandError("--pools: add default=8..64, which runs all other jobs", Exit.USAGE)
    return str(arguments.pools)


def _data_dir(given: str | None) -> Path:
    # A link given by the user is intended; one in the state directory is not followed.
    return Path(given).resolve() if given else local.STATE_DIR / "data"


@contextmanager
def _only_one() -> Iterator[None]:
    """Hold the lock of this directory. The kernel releases it however this process ends."""
    try:
        private.make_directory(local.STATE_DIR)
        private.add_missing(local.STATE_DIR, ".gitignore", b"*\n")  # passwords are in here
        opened = open(local.STATE_DIR / "up.lock", "a+", opener=private.opener)  # noqa: SIM115
    except OSError as error:
        raise CommandError(
            f"`queuepool up` stores its logs and state in {Path.cwd() / local.STATE_DIR}, which "
            f"cannot be written: {error.strerror or error}. Run it in a directory that you own",
            Exit.USAGE,
        ) from error
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = output.clean(lock.read(20)) or "?"
            raise CommandError(
                f"`queuepool up` is already running in this directory (process {holder}). Use "
                "that one, stop it with Ctrl-C, or run this one in another directory"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _state(cluster: LocalProcesses) -> local.LocalCluster:
    spec = cluster.spec
    return local.LocalCluster(
        pid=os.getpid(),
        servers=cluster.servers,
        placement=spec.placement,
        partitions=spec.partitions,
        stage=spec.stage,
        queue=spec.queue,
        grpc_address=cluster.grpc_address or None,
        grpc_token=cluster.grpc_token,
        web_address=cluster.web_address or None,
        web_token=cluster.web_token if cluster.spec.web else None,
    )


def _attend(cluster: LocalProcesses, interrupts: Interrupts) -> None:
    started_s, ready, written = time.monotonic(), False, None
    with QueuePool(config=cluster.config) as pool:
        while True:
            state = _state(cluster)
            if state != written:
                local.write(state)
                written = state
            if interrupts.wait(_STEP_S):
                return
            cluster.step()
            if ready:
                continue
            missing = unready(pool)
            if not missing and not cluster.grpc_address:
                missing = "the coordinator has not reported its address yet"
            if not missing and cluster.spec.web and not cluster.web_address:
                missing = "the page has not reported its address yet"
            late = time.monotonic() - started_s > _READY_S
            if not missing:
                output.remark(*_welcome(cluster))
            elif late:
                output.remark(f"{missing}; see the logs in {cluster.spec.log_dir}")
            ready = not missing or late


def unready(pool: QueuePool) -> str:
    """Return what a cluster still lacks to work fully; empty if nothing."""
    try:
        led = has_leader(pool)
        states = [partition.observe() for partition in pool.partitions()]
    except QueuePoolError as error:
        return str(error)
    for state in states:
        if state.owner is None or state.owner.lease_ms <= 0:
            return f"no consumer owns partition {state.partition} yet"
    return "" if led else "no coordinator leads yet"


def link_to_page(address: str, token: str) -> str:
    """Return a link that signs in. What follows # stays in the browser: no server logs it."""
    return f"{address}login#token={token}"


def _welcome(cluster: LocalProcesses) -> list[str]:
    if cluster.spec.servers:
        where = ", ".join(cluster.servers)
    else:  # without its password, which is in the state file
        where = display_name(cluster.servers["main"])
    page = []
    if cluster.spec.web and printing.remarks_are_on_terminal():
        page = [f"page: {link_to_page(cluster.web_address, cluster.web_token)}"]
    elif cluster.spec.web:  # a token must not get into the logs of a service
        page = [f"page: {cluster.web_address} (`queuepool web --link` prints a sign-in link)"]
    return [
        f"ready: {cluster.spec.partitions} partitions on {where}, coordinator at "
        f"{cluster.grpc_address}, logs in {cluster.spec.log_dir}",
        *page,
        "in this directory: queuepool bulk | status | watch | scale | dead; Ctrl-C drains",
    ]
