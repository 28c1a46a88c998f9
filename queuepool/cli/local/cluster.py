"""A whole cluster on this machine: a server, a coordinator, a consumer for each partition.

Both `queuepool up` and `queuepool demo` run it. Everything happens on the main thread:

    start()    server, check of the server, coordinator, consumers
    step()     several times a second: restarts, news
    stop()     consumers drain, the coordinator ends, the server goes last
"""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.server_check import inspect
from queuepool.cli.local.supervisor import HopelessChildError, Say, Spec, Supervisor
from queuepool.client.pool import QueuePool
from queuepool.errors import QueuePoolError
from queuepool.partitions.route import Leave
from queuepool.process.embedded import EmbeddedServer
from queuepool.process.embedded.ports import HOST
from queuepool.process.launching import command_line, without_secrets
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.settings.config import PoolConfig

_STOP_S = 5.0  # beyond the drain, and for the coordinator
_COORDINATOR, _WEB = "coordinator", "web"
_GRPC_ADDRESS = re.compile(r"ready grpc=(\S+) ")
_WEB_ADDRESS = re.compile(r"ready web=(\S+) ")
_TOKENS, _WEB_TOKENS = "COORDINATOR_GRPC_TOKEN", "QUEUEPOOL_WEB_TOKEN"
# What tells the page of another cluster than the one that runs here, whose state file it reads.
_OF_OTHERS = ("QUEUEPOOL_GRPC", "QUEUEPOOL_SERVERS", "QUEUEPOOL_URL")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalClusterSpec:
    """What to run. servers: given ones by name; empty: start one, with its files in data_dir.

    web: also the page, which needs the extra `web`.
    """

    app: str
    partitions: int
    log_dir: Path
    servers: Mapping[str, str] = field(default_factory=dict, repr=False)  # URLs hold passwords
    placement: str = ""
    stage: str = "dev"
    queue: str = "main"
    data_dir: Path | None = None
    base_workers: int | None = None
    max_workers: int | None = None
    pools: str | None = None
    web: bool = False
    drain_s: float = 30.0
    environment: Mapping[str, str] = field(default_factory=dict)


class LocalProcesses:
    """The running processes of a spec.

    grpc_address: where the coordinator answers; "" until it does. It may change at a restart:
    another process could take a port that we chose in advance, so the kernel chooses one when the
    coordinator begins to listen.

    Other users of this machine can reach the server and the coordinator, but neither lets them in:
    the server has a password, and the coordinator (grpc_token) a token, unless client certificates
    decide who may call it. Children get both in their environment, which others cannot read.
    """

    def __init__(self, spec: LocalClusterSpec, say: Say) -> None:
        self.spec, self._say = spec, say
        self._server: EmbeddedServer | None = None
        self._supervisor: Supervisor | None = None
        self.servers = dict(spec.servers)
        self.grpc_address = self.web_address = ""
        self.web_token = _first(os.environ.get(_WEB_TOKENS, "")) or secrets.token_urlsafe(32)
        self._grpc_token = _token_of_operators(os.environ)
        self._grpc_answers = False

    @property
    def grpc_token(self) -> str | None:
        """The token for `grpc_address`; None: none is needed, or others may listen there."""
        return self._grpc_token if self._grpc_answers else None

    @property
    def config(self) -> PoolConfig:
        """Return the config of a pool on this cluster; complete once the server runs."""
        spec = self.spec
        return PoolConfig(
            topology=build(self.servers, spec.partitions, spec.placement),
            keyspace=Keyspace(spec.stage, spec.queue),
        )

    def start(self) -> None:
        """Start everything; children need a moment to get ready. Raises CommandError."""
        if not self.servers:
            self._server = EmbeddedServer(self.spec.data_dir, with_password=True)
            self._server.start()
            self.servers = {"main": self._server.url}
        self._check()
        self._supervisor = Supervisor(self._specs(), self.spec.log_dir, self._say)
        self._supervisor.start()

    def _check(self) -> None:
        config = self.config
        for name, url in config.topology.servers.items():
            for finding in inspect(name, url, config):
                if finding.level == "error":
                    raise CommandError(f"{finding.where}: {finding.text}")
        with QueuePool(config=config) as pool:
            pool.route.read(Leave.RECORD)

    def _specs(self) -> list[Spec]:
        spec, me = self.spec, os.getpid()
        shared = {k: v for k, v in os.environ.items() if k != "QUEUEPOOL_URL"} | {
            "QUEUEPOOL_SERVERS": json.dumps(self.servers),
            "QUEUEPOOL_PLACEMENT": spec.placement,
            "QUEUEPOOL_PARTITIONS": str(spec.partitions),
            "QUEUEPOOL_STAGE": spec.stage,
            "QUEUEPOOL_QUEUE": spec.queue,
            "CONSUMER_DRAIN_S": f"{spec.drain_s:g}",
        }
        port = os.environ.get("COORDINATOR_GRPC_PORT") or "0"
        coordinator = {"COORDINATOR_GRPC_HOST": HOST, "COORDINATOR_GRPC_PORT": port}
        if self._grpc_token is not None and not os.environ.get(_TOKENS):
            coordinator[_TOKENS] = self._grpc_token
        words = ["--app", spec.app, "--partition", "auto"]
        if spec.base_workers is not None:
            words += ["--workers", str(spec.base_workers)]
            coordinator["COORDINATOR_BASE_WORKERS"] = str(spec.base_workers)
        if spec.max_workers is not None:
            words += ["--max-workers", str(spec.max_workers)]
            coordinator["COORDINATOR_MAX_WORKERS"] = str(spec.max_workers)
        if spec.pools is not None:
            words += ["--pools", spec.pools]
            coordinator["COORDINATOR_POOLS"] = spec.pools
        environment = {**shared, **coordinator, **spec.environment}
        consumers = without_secrets(environment)
        consumer = command_line("consumer", words, tied_to=me)
        specs = [
            Spec(_COORDINATOR, command_line("coordinator", [], tied_to=me), environment),
            *(Spec(name, consumer, consumers, alike=True) for name in self._consumers()),
        ]
        if spec.web:
            page = {k: v for k, v in consumers.items() if k not in _OF_OTHERS}
            page |= {k: v for k, v in os.environ.items() if k.startswith("QUEUEPOOL_WEB_")}
            page.setdefault(_WEB_TOKENS, f"{_user()}:{self.web_token}")
            specs.append(Spec(_WEB, command_line("queuepool.web", [], tied_to=me), page))
        return specs

    def _consumers(self) -> list[str]:
        return [f"consumer-{n}" for n in range(self.spec.partitions)]

    def pids(self) -> dict[str, int]:
        """Return the process ids of the children, by name."""
        return self._supervisor.pids() if self._supervisor is not None else {}

    def step(self) -> None:
        """Supervise everything once. Raises CommandError if it cannot continue."""
        if self._server is not None and not self._server_lives():
            self._say("the server ended; restarting it with the jobs on its disk")
            self._server.start()
        if self._supervisor is not None:
            try:
                self._supervisor.step()
            except HopelessChildError as error:
                first, *more = str(error).split("\n")
                raise CommandError(first, Exit.USAGE, more) from error
            ready = _GRPC_ADDRESS.match(self._supervisor.ready(_COORDINATOR))
            self._grpc_answers = ready is not None
            self.grpc_address = ready[1] if ready else self.grpc_address
            if self.spec.web:
                page = _WEB_ADDRESS.match(self._supervisor.ready(_WEB))
                self.web_address = page[1] if page else ""

    def _server_lives(self) -> bool:
        try:
            return self._server is not None and self._server.pid > 0
        except QueuePoolError:
            return False

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """Drain the consumers, end the coordinator, then the server. Idempotent.

        hurry: once it returns true, waiting ends.
        """
        supervisor, self._supervisor = self._supervisor, None
        try:
            if supervisor is not None:
                self._stop_children(supervisor, hurry)
        finally:
            server, self._server = self._server, None
            if server is not None:
                server.stop()

    def _stop_children(self, supervisor: Supervisor, hurry: Callable[[], bool]) -> None:
        limit_s = self.spec.drain_s + _STOP_S
        killed = supervisor.stop(self._consumers(), timeout_s=limit_s, hurry=hurry)
        if killed:
            self._say(f"killed: {', '.join(killed)}; their running jobs will run again")
        last = [_COORDINATOR, *([_WEB] if self.spec.web else [])]
        supervisor.stop(last, timeout_s=_STOP_S, hurry=hurry)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without names
        return "operator"


def _first(tokens: str) -> str:
    """Return the first of tokens between commas, without the name of whose it is."""
    given = [word for part in tokens.split(",") if (word := part.strip())]
    return given[0].rpartition(":")[2] if given else ""


def _token_of_operators(environment: Mapping[str, str]) -> str | None:
    """Return the token with which commands call the coordinator: the user's, or a random one.

    None: the user set up client certificates instead; with both, both are needed.
    """
    given = [word for part in environment.get(_TOKENS, "").split(",") if (word := part.strip())]
    if given:
        return given[0]
    if environment.get("COORDINATOR_GRPC_TLS_CLIENT_CA"):
        return None
    return secrets.token_urlsafe(32)
