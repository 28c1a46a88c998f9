from collections.abc import Callable, Iterator
from typing import Any

import pytest

from coordinator.assembly import Coordinator, assemble
from coordinator.settings import load
from queuepool.cli.exits import Exit
from queuepool.client.pool import QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.rpc.client import QueuePoolClient, connect
from queuepool.settings.config import PoolConfig
from tests.integration.coordinator.cluster import FAST, Process
from tests.shell import Shell

StartCoordinator = Callable[..., Coordinator]
StartProcess = Callable[..., Process]
Command = Callable[..., Any]
StartCommand = Callable[[str], Command]


@pytest.fixture
def pool(redis_url: str, stage: str) -> Iterator[QueuePool]:
    """Two partitions on the shared server, in a keyspace of the test's own."""
    config = PoolConfig(
        topology=build({"main": redis_url}, 2, ""), keyspace=Keyspace(stage), timeout_s=30.0
    )
    with QueuePool(config=config) as made:
        yield made


@pytest.fixture
def coordinate(pool: QueuePool) -> Iterator[StartCoordinator]:
    """Make coordinators of the pool; turn them by hand or start them. All stop with the test."""
    made: list[Coordinator] = []

    def make(**settings: object) -> Coordinator:
        name = str(settings.pop("name", f"coordinator-{len(made)}"))
        made.append(assemble(pool, load({**FAST, **settings}), address=name))
        return made[-1]

    yield make
    for coordinator in made:
        coordinator.stop()


@pytest.fixture
def process(redis_url: str, stage: str) -> Iterator[StartProcess]:
    """Start coordinator processes over the same keyspace as `pool`. All end with the test."""
    running: list[Process] = []

    def start(**settings: Any) -> Process:
        running.append(Process(redis_url, stage, **settings))
        return running[-1]

    yield start
    for each in running:
        each.kill()


@pytest.fixture
def running(process: StartProcess, pool: QueuePool) -> Process:
    """A coordinator process over `pool`."""
    return process()


@pytest.fixture
def client(running: Process) -> Iterator[QueuePoolClient]:
    """A client of `running`."""
    with connect(running.grpc, deadline_s=30) as made:
        yield made


@pytest.fixture(params=["coordinator", "servers"])
def command(
    request: pytest.FixtureRequest, pool: QueuePool, redis_url: str, stage: str
) -> StartCommand:
    """Make what runs one command of the shell, by a coordinator alone or on the servers alone."""
    shell = Shell(request.getfixturevalue("capsys"))
    settings = {"QUEUEPOOL_URL": redis_url, "QUEUEPOOL_STAGE": stage, "QUEUEPOOL_PARTITIONS": "2"}
    if request.param == "coordinator":
        settings["QUEUEPOOL_URL"] = "redis://127.0.0.1:1/0"
        settings["QUEUEPOOL_GRPC"] = request.getfixturevalue("running").grpc

    def make(name: str) -> Command:
        def run(*words: str, code: int = Exit.OK) -> Any:
            found, out, err = shell.run_with(name, *words, **settings)
            assert found == code, out + err
            return shell.lines if "--json" in words and code == Exit.OK else out + err

        return run

    return make
