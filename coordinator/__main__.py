"""The coordinator process: `python -m coordinator`, or `queuepool coordinator`.

Exit codes: 0 stopped and resigned; 1 failure; 2 configuration; 4 the watchdog ended a process
whose loop was stuck; 130 and 143 hard stop by a second signal.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from coordinator.api.library_logs import quieten
from coordinator.api.operators import Operators
from coordinator.assembly import Coordinator, assemble, other_pools
from coordinator.core.reached import advertised, is_loopback
from coordinator.loop.crew import Crew
from coordinator.loop.helpers import Boards, Helper, helpers
from coordinator.loop.pools import PoolCoordinators
from coordinator.loop.watchdog import Watchdog
from coordinator.settings import ENV_PREFIX, CoordinatorSettings, load
from coordinator.snapshots.limits import LimitBoard
from coordinator.snapshots.moves import MoveBoard
from coordinator.snapshots.store import SnapshotStore
from coordinator.snapshots.verdict import VerdictBoard
from coordinator.telemetry.entries import LogEntries
from coordinator.telemetry.event_log import EventLog
from coordinator.telemetry.log_writer import LogWriter
from coordinator.telemetry.metrics import Metrics
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, UnavailableError
from queuepool.errors.hindrances import HindranceError
from queuepool.partitions.route import Leave
from queuepool.process.endings import (
    CONFIGURATION,
    FAILED,
    OK,
    WATCHDOG,
    exit_now,
    name_crashes,
    show_stacks,
)
from queuepool.process.exporting import exported
from queuepool.process.exposition import exposed
from queuepool.process.keeping import RouteKeeper
from queuepool.process.launch import end_on_signals, fill_standard_files
from queuepool.process.startup import (
    load_both,
    refuse_servers_that_cannot_work,
    warn_of_mistyped,
)
from queuepool.settings import environment
from queuepool.settings.config import PoolConfig
from queuepool.telemetry import printing
from queuepool.telemetry.events import fan_out
from queuepool.telemetry.logs import configure

if TYPE_CHECKING:
    from coordinator.api.server import StatusServer
    from coordinator.api.service import StatusService

_RETRY_FOR_S = 2.0  # of an operator's call: commands wait 5 s for its answer
_FLUSH_S = 0.5  # for the last metrics to be sent by OTLP
_STOP_S = 0.8  # for the loop to end and resign: with the rest, less than a second
_GRACE_S = 0.2  # for calls that run
_NEW_OBJECTS = 50_000  # between searches for garbage: a cycle makes many, and hardly any garbage
_log = logging.getLogger("coordinator")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one coordinator until SIGTERM or SIGINT; returns the exit code."""
    name_crashes()
    gc.set_threshold(_NEW_OBJECTS)
    quieten()
    overrides = _parse(argv)
    try:
        settings, config = load_both(partial(load, overrides))
        configure(settings.log_format, settings.log_level)
        warn_of_mistyped(_log, CoordinatorSettings)
        return run(settings, config)
    except ConfigurationError as error:
        printing.complain("coordinator", error)
        return CONFIGURATION


def run(settings: CoordinatorSettings, config: PoolConfig) -> int:
    """Run one coordinator with these settings. Raises ConfigurationError."""
    # A reply must come well within a lease, or one hanging server loses the lead.
    timeout_s = min(config.timeout_s, settings.request_timeout_s)
    # An operator hears of a server that is down before the call itself runs out of time.
    retry_for_s = min(config.retry_for_s, _RETRY_FOR_S)
    with QueuePool(config=replace(config, timeout_s=timeout_s, retry_for_s=retry_for_s)) as pool:
        pool.route.verify(Leave.RECORD)
        try:
            refuse_servers_that_cannot_work(pool)
            asyncio.run(_serve(pool, settings))
        except ConfigurationError:
            raise
        except HindranceError as error:
            _log.error("%s", error)
            return FAILED
        except Exception:
            _log.exception("the coordinator failed")
            return FAILED
    return OK


class _Parts(NamedTuple):
    """What a process runs, and stops in the end."""

    coordinator: Coordinator
    others: PoolCoordinators
    server: StatusServer
    operators: Operators
    helpers: Sequence[Helper]


async def _serve(pool: QueuePool, settings: CoordinatorSettings) -> None:
    # Here, since grpc reads its log level when it is imported.
    from coordinator.api.keda import scaler_of
    from coordinator.api.server import StatusServer

    store, registry, writer = SnapshotStore(), CollectorRegistry(), LogWriter(pool)
    boards, most = Boards(LimitBoard(), MoveBoard(), VerdictBoard()), settings.metrics_partitions
    metrics = Metrics(registry, store, boards.limits, boards.moves, most_partitions=most)
    emit = fan_out([EventLog(), metrics, LogEntries(writer.add)])
    server = StatusServer(settings, emit)
    bound = server.bind()
    address = settings.grpc_address or advertised(bound, socket.gethostname())
    coordinator = assemble(pool, settings, address=address, store=store, emit=emit)
    others = other_pools(pool, settings, address, metrics, coordinator.budget, writer)
    workers = settings.limits().max_workers
    operators = Operators(pool, store, coordinator.book, max_workers=workers, others=others)
    watchdog = Watchdog(coordinator.loop, settings.watchdog_s, _end)
    stopping, refused = _stop_on_signals(), list[ConfigurationError]()
    here = asyncio.get_running_loop()

    def refuse(error: ConfigurationError) -> None:
        refused.append(error)
        _call(here, stopping)

    epoch = coordinator.leadership.leading_epoch
    beside = helpers(pool, settings, epoch, store, boards, others=others.views, emit=emit)
    beside = [watchdog, RouteKeeper(pool, refuse), *beside]
    parts = _Parts(coordinator, others, server, operators, beside)
    serves = exposed(registry, watchdog.problem, settings, setting="COORDINATOR_METRICS_PORT")
    sends = exported(registry, "queuepool-coordinator", flush_s=_FLUSH_S)
    with writer, sends, serves as url:  # the writer ends last, and so tells who resigned
        await server.start(
            _service(pool, settings, store, parts, boards), scaler_of(settings, store, operators)
        )
        _warn_if_open(settings)
        await _run_until(stopping, store, parts, (bound, "none" if not url else f"{url}/metrics"))
    if refused:
        raise refused[0]


def _service(
    pool: QueuePool,
    settings: CoordinatorSettings,
    store: SnapshotStore,
    parts: _Parts,
    boards: Boards,
) -> StatusService:
    from coordinator.api.cluster_info import ClusterInfo
    from coordinator.api.service import StatusService

    return StatusService(
        ClusterInfo.of(pool.config, settings, environment.load(environment.QueuePoolSettings)),
        store,
        parts.operators,
        cycles=parts.coordinator.cycles,
        shadows=parts.coordinator.shadows,
        verdicts=boards.verdicts,
    )


async def _run_until(
    stopping: asyncio.Event, store: SnapshotStore, parts: _Parts, addresses: tuple[str, str]
) -> None:
    """Run all parts until the process is to stop, or its API ended; addresses: to announce."""
    try:
        parts.coordinator.start()
        for helper in parts.helpers:
            helper.start()
        parts.others.start()
        _announce(*addresses)
        await _until(stopping, store, parts.server)
    finally:
        for helper in reversed(parts.helpers):
            helper.stop()
        await _stop(parts)


async def _until(stopping: asyncio.Event, store: SnapshotStore, server: StatusServer) -> None:
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()
    store.watch(lambda: None if seen.is_set() else _call(loop, seen))
    first = asyncio.ensure_future(seen.wait())
    last = asyncio.ensure_future(stopping.wait())
    gone = asyncio.ensure_future(server.ended())
    ends = (last, gone)
    await asyncio.wait((first, *ends), return_when=asyncio.FIRST_COMPLETED)
    if first.done() and not stopping.is_set():
        server.set_serving(True)
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for waiting in (first, *ends):
        waiting.cancel()
    if not stopping.is_set():
        from coordinator.api.server import ApiEndedError

        raise ApiEndedError


def _call(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(event.set)


async def _stop(parts: _Parts) -> None:
    pools = _end_loop(parts.others, "coordinator-stop-pools")
    api = parts.server.stop(_GRACE_S)
    ended, _, _ = await asyncio.gather(_end_loop(parts.coordinator), api, pools)
    parts.operators.close()
    if not ended:
        _log.warning(
            "a server does not respond, so leadership was not released; its lease expires soon"
        )
    _log.info("stopped; worker counts stay the same")


async def _end_loop(
    coordinator: Coordinator | PoolCoordinators, name: str = "coordinator-stop"
) -> bool:
    try:
        ending = Crew(1, name).submit(lambda: coordinator.stop(_STOP_S))
    except UnavailableError:  # no thread for it: calls to the API wait that long
        return coordinator.stop(_STOP_S)
    return await asyncio.wrap_future(ending)


def _stop_on_signals() -> asyncio.Event:
    stopping = asyncio.Event()

    def on_signal(number: int) -> None:
        if stopping.is_set():
            os._exit(128 + number)
        _log.info("%s: resigning and stopping", signal.Signals(number).name)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    return stopping


def _announce(grpc_address: str, metrics: str) -> None:
    """Announce this process's addresses: in the log, and as one machine-readable line."""
    _log.info("coordinator up", extra={"grpc": grpc_address, "metrics": metrics})
    with contextlib.suppress(BrokenPipeError):
        printing.say(f"ready grpc={grpc_address} metrics={metrics}")


def _warn_if_open(settings: CoordinatorSettings) -> None:
    if settings.grpc_is_open() and not is_loopback(settings.grpc_host):
        _log.warning(
            "anyone who can reach %s can set worker counts (COORDINATOR_GRPC_INSECURE is set)",
            settings.grpc_host,
        )


def _parse(argv: Sequence[str] | None) -> dict[str, Any]:
    parser = printing.ArgumentParser(
        prog="queuepool coordinator",
        usage="queuepool coordinator [--NAME VALUE ...]",
        description="Observe every partition and decide its number of workers.",
        epilog=f"Each flag is also a variable: --cycle-s is {ENV_PREFIX}CYCLE_S; the flag takes "
        "precedence. QUEUEPOOL_URL and QUEUEPOOL_PARTITIONS define what to coordinate. "
        "Exit codes: 0 stopped, 1 failure, 2 configuration, 4 watchdog.",
    )
    for name, field in CoordinatorSettings.model_fields.items():
        if field.annotation == SecretStr | None:
            continue  # everyone can read a command line
        names = [name, *filter(None, [CoordinatorSettings.old_names.get(name)])]
        flags = [f"--{each.replace('_', '-')}" for each in names]
        parser.add_argument(
            *flags, dest=name, metavar="VALUE", help=field.description, default=None
        )
    return {k: v for k, v in vars(parser.parse_args(argv)).items() if v is not None}


def _end(why: str) -> None:
    def tell() -> None:
        _log.critical("%s: exiting, so that the supervisor restarts this process", why)
        show_stacks()

    exit_now(WATCHDOG, tell)


if __name__ == "__main__":
    fill_standard_files()
    end_on_signals()
    exit_now(main())  # at once: what is left of grpc may crash an interpreter that shuts down
