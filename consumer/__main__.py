"""The consumer process: `python -m consumer --app MODULE --partition 3`, or `queuepool consumer`.

Exit codes: 0 drained and released; 1 failure; 2 configuration; 3 fenced, a newer owner took the
partition; 4 the watchdog ended a stuck process; 130 and 143 hard stop.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from consumer.loop.lifecycle import Consumer, shuffled
from consumer.loop.side_by_side import SideBySide
from consumer.loop.watchdog import Watchdog
from consumer.loop.words import Teller
from consumer.settings import ConsumerSettings
from consumer.telemetry.metrics import ConsumerMetrics, MetricsOfPools
from consumer.telemetry.report import EventLog
from consumer.telemetry.server_memory import ServerMemory
from consumer.workers import build
from queuepool.client.pool import QueuePool
from queuepool.errors import ConfigurationError, FencedError
from queuepool.errors.hindrances import HindranceError
from queuepool.process.endings import (
    CONFIGURATION,
    FAILED,
    FENCED,
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
from queuepool.process.launching import OF_OPERATORS
from queuepool.process.signals import SignalHandlers
from queuepool.process.startup import (
    import_app,
    load_both,
    load_scripts,
    note_of_taken,
    warn_of_mistyped,
)
from queuepool.servers.connect import connect
from queuepool.settings.config import PoolConfig
from queuepool.settings.environment import load
from queuepool.tasks.registry import default_registry
from queuepool.telemetry import printing
from queuepool.telemetry.events import fan_out
from queuepool.telemetry.logs import configure

if TYPE_CHECKING:
    from queuepool.process.children import Child

_log = logging.getLogger("consumer")

# What an owner calls again and again, and what it calls when a reply was lost.
_SCRIPTS = (
    "acquire",
    "renew",
    "promote",
    "claim",
    "finish",
    "retry",
    "rotate_nonce",
    "in_flight",
    "finish_stray",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one consumer until SIGTERM or SIGINT; returns the exit code."""
    name_crashes()  # a segfaulting handler names itself
    for name in OF_OPERATORS:
        os.environ.pop(name, None)
    try:
        flags = _parse(argv)
        words = Teller(flags.started_fd)
        settings, config = load_both(partial(_settings, flags))
        configure(settings.log_format, settings.log_level)
        if flags.started_fd is None:  # a child of several need not repeat it
            warn_of_mistyped(_log, ConsumerSettings)
        if settings.processes > 1:
            return _run_several(settings)
        _import_app(settings.app)
        # A reply must come well within a lease, or one slow turn loses it.
        pool = QueuePool(config=_answering_within_a_lease(config, settings))
        if settings.partition != "auto":
            if not config.topology.partitioned:
                raise ConfigurationError(
                    f"CONSUMER_PARTITION={settings.partition} with QUEUEPOOL_PARTITIONED=false: a "
                    "queue without partitions has one consumer; remove one of them"
                )
            if int(settings.partition) >= config.topology.partitions:
                pool.route.verify()  # there may be more by now than the variables say
            pool.partition(int(settings.partition))
    except ConfigurationError as error:
        return _refuse(error)
    with pool:
        try:
            load_scripts(pool, _SCRIPTS)
            words.started()
            return _run(pool, settings, words)
        except ConfigurationError as error:
            words.refused()
            return _refuse(error)
        except HindranceError as error:
            printing.complain("consumer", error)
            return FAILED  # the settings are fine: a supervisor may retry


def _run_several(settings: ConsumerSettings) -> int:
    from consumer.loop.several import Several
    from queuepool.process.forks import Forks
    from queuepool.process.launching import command_line

    tied = partial(command_line, "consumer", tied_to=os.getpid())

    def start(number: int, started_fd: int) -> Child:
        port = settings.metrics_port
        own = {"CONSUMER_METRICS_PORT": str(port + number if port > 0 else port)}
        command = tied(["--started-fd", str(started_fd)])
        return forks.start(command, environment | own, pass_fds=[started_fd])

    environment = os.environ | {"CONSUMER_PROCESSES": "1"}
    with contextlib.closing(Forks(tied([]), environment, settings.processes)) as forks:
        return Several(settings.processes, start, drain_s=settings.drain_s).run()


def _refuse(error: ConfigurationError) -> int:
    printing.complain("consumer", error)
    return CONFIGURATION


def _run(pool: QueuePool, settings: ConsumerSettings, words: Teller) -> int:
    consumers = _consumers(pool, settings)
    metrics = [ConsumerMetrics(consumer) for consumer in consumers]
    for consumer, counts in zip(consumers, metrics, strict=True):
        consumer.listen = fan_out([EventLog(consumer.pool).listen, counts.listen])
    dogs = [Watchdog(c.liveness, settings.stall_s, _probe(pool), _end) for c in consumers]

    def problem() -> str | None:
        return next(filter(None, (dog.problem() for dog in dogs)), None)

    def fenced(error: FencedError) -> None:
        # What still runs here already runs elsewhere: exit at once, do not wait for threads.
        exit_now(FENCED, partial(_log.error, "%s", error))

    all_pools = SideBySide(consumers, fenced)
    registry = CollectorRegistry()
    registry.register(MetricsOfPools(metrics))
    memory = ServerMemory(pool, lambda: consumers[0].partition)
    registry.register(memory)
    refused: list[ConfigurationError] = []

    def refuse(error: ConfigurationError) -> None:
        refused.append(error)
        words.refused()
        all_pools.stop()

    keeper = RouteKeeper(pool, refuse, waits=lambda: any(c.partition is None for c in consumers))
    serves = exposed(registry, problem, settings, setting="CONSUMER_METRICS_PORT")
    sends = exported(registry, "queuepool-consumer")
    with _signals(all_pools), sends, serves as url:  # who sees it healthy may tell it to stop
        if url is not None:
            _log.info("metrics and health on %s", url)
        if not _ran(all_pools, [*dogs, keeper, memory]):
            return _leave(FAILED)
    return _leave(_refuse(refused[0]) if refused else OK)


def _ran(pools: SideBySide, helpers: Sequence[Watchdog | RouteKeeper | ServerMemory]) -> bool:
    """Run the pools until they stop, with the threads beside them; return False after a crash."""
    try:
        for helper in helpers:
            helper.start()
        pools.run()
    except (ConfigurationError, HindranceError):
        raise
    except Exception:  # a handler may have broken anything: this counts as a crash
        _log.exception("the consumer failed")
        return False
    finally:
        for helper in reversed(helpers):
            helper.stop()
    return True


def _consumers(pool: QueuePool, settings: ConsumerSettings) -> list[Consumer]:
    build.check(settings, default_registry)
    build.warn(settings, default_registry)
    order = shuffled(pool)  # the same for all, which are then likely to own the same partition
    return [Consumer(pool, one, candidates=order) for one in settings.of_each_pool()]


def _leave(code: int) -> int:
    """Return the exit code, or exit at once if threads of handlers would keep this process alive.

    Either they outlived the drain, and their jobs were handed back, or a handler left them behind.
    """
    for thread in threading.enumerate():
        keeps = not thread.daemon and thread is not threading.main_thread()
        if keeps or thread.name.startswith("queuepool-worker"):
            exit_now(code)
    return code


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = printing.ArgumentParser(
        prog="queuepool consumer",
        description="Own one partition and run its jobs.",
        epilog="docs/operations.md lists every CONSUMER_* and QUEUEPOOL_* variable; flags take "
        "precedence. Exit codes: 0 drained, 1 failure, 2 configuration, 3 fenced, 4 "
        "watchdog.",
    )
    parser.add_argument("--app", help="modules that define tasks, separated by commas")
    parser.add_argument("--partition", help="a partition number, or auto: take any free one")
    parser.add_argument(
        "--processes", type=int, help="consumers to run on this machine (default 1)"
    )
    parser.add_argument("--started-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, help="base number of workers (default 8)")
    parser.add_argument(
        "--max-workers", type=int, help="maximum number of workers (default 8 x the base)"
    )
    parser.add_argument(
        "--pools", help="kind and size of each pool: default=8..64,cpu=process:2..4"
    )
    parser.add_argument("--metrics-port", type=int, help="port of /metrics and /healthz")
    parser.add_argument("--log-format", choices=("text", "json"))
    return parser.parse_args(argv)


def _settings(flags: argparse.Namespace) -> ConsumerSettings:
    for name, value in vars(flags).items():
        if value is not None and name != "started_fd":
            os.environ[f"CONSUMER_{name.upper()}"] = str(value)
    settings = load(ConsumerSettings)
    if not settings.app:
        raise ConfigurationError(
            "no tasks to run: pass --app MODULE, or set CONSUMER_APP, naming the module that "
            "defines your @task functions"
        )
    return settings


def _import_app(app: str) -> None:
    import_app(app)
    if not any(True for _ in default_registry):
        raise ConfigurationError(
            f"--app {app}: no function in it is decorated with @task{note_of_taken(app)}"
        )


def _answering_within_a_lease(config: PoolConfig, settings: ConsumerSettings) -> PoolConfig:
    return replace(config, timeout_s=min(config.timeout_s, settings.lease_s / 3))


def _probe(pool: QueuePool) -> Callable[[], None]:
    def probe() -> None:
        for url in pool.config.topology.servers.values():
            with contextlib.closing(connect(url, timeout_s=2.0)) as server:
                server.info()

    return probe


def _end(why: str) -> None:
    def tell() -> None:
        _log.critical("terminating this process: %s", why)
        show_stacks()

    exit_now(WATCHDOG, tell)


@contextlib.contextmanager
def _signals(consumers: SideBySide) -> Iterator[None]:
    received = 0

    def on_signal(number: int, _frame: object) -> None:
        nonlocal received
        received += 1
        if received > 1:
            os._exit(128 + number)
        consumers.stop()

    handlers = SignalHandlers(on_signal)
    try:
        yield
    finally:
        handlers.put_back()


if __name__ == "__main__":
    fill_standard_files()
    end_on_signals()
    sys.exit(main())
