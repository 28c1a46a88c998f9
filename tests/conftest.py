"""Fixtures that every kind of test shares: servers, stages and a watch on leaked threads.

Each xdist worker has one server of its own, and each test a stage of its own on it, so tests
neither wait for one another nor see one another's keys.
"""

import gc
import logging
import os
import shutil
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from queuepool.client.pool import QueuePool
from queuepool.partitions.partition import Partition
from queuepool.process.embedded import EmbeddedServer, find_server_binary
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single
from queuepool.settings.config import PoolConfig
from tests.sampling import share_between_engines
from tests.shell import Shell
from tests.striking import unraisable_dropped
from tests.waiting import wait_until

# `make test` tries the same examples every time, so that a change is judged by what it changes;
# `make explore` tries others, EXAMPLES of each. A shared machine stalls now and then: a slow
# example is not a wrong one.
EXAMPLES = int(os.environ.get("EXAMPLES", "0"))
settings.register_profile(
    "queuepool", max_examples=50, deadline=None, print_blob=True, derandomize=True
)
settings.register_profile(
    "explore", settings.get_profile("queuepool"), max_examples=max(1, EXAMPLES), derandomize=False
)
settings.load_profile("explore" if EXAMPLES else "queuepool")

# A shell that starts the tests in the background lets them ignore Ctrl-C; the processes that they
# start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ServerFactory = Callable[..., EmbeddedServer]


def server_engines() -> dict[str, Path]:
    """Return the servers this machine can run, by name; the bundled one is always there."""
    engines = {"bundled": find_server_binary()}
    debian = shutil.which("redis-server")
    if debian:
        engines["redis-server"] = Path(debian)
    return engines


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before the tests that the command line left out are dropped."""
    share_between_engines(items, frozenset(server_engines()))


def pytest_sessionstart() -> None:
    """What is collected stays: searches for garbage in it cost a quarter of the time to collect."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor does a search during a test pass over it."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a server that the tests of this worker share."""
    with EmbeddedServer() as server:
        yield server.url


@pytest.fixture
def server_factory() -> Iterator[ServerFactory]:
    """Start further servers, with the arguments of `EmbeddedServer`; all end with the test."""
    with ExitStack() as servers:

        def start(
            data_dir: Path | None = None,
            *,
            port: int = 0,
            appendonly: bool = True,
            maxmemory: int | None = None,
            extra_args: tuple[str, ...] = (),
            binary: Path | None = None,
        ) -> EmbeddedServer:
            server = EmbeddedServer(
                data_dir,
                port=port,
                appendonly=appendonly,
                maxmemory=maxmemory,
                extra_args=extra_args,
                binary=binary,
            )
            return servers.enter_context(server)

        yield start


@pytest.fixture(scope="session", params=["bundled", "redis-server"])
def engine_binary(request: pytest.FixtureRequest) -> Path:
    """Each server program in turn, for tests that must hold on every engine."""
    binary = server_engines().get(str(request.param))
    if binary is None:
        pytest.skip(f"{request.param} is not installed here")
    return binary


@pytest.fixture(scope="session")
def engine_url(engine_binary: Path) -> Iterator[str]:
    """The URL of a shared server of each engine in turn."""
    with EmbeddedServer(binary=engine_binary) as server:
        yield server.url


@pytest.fixture
def stage() -> str:
    """A stage name that no other test uses: its keys are a keyspace of this test's own."""
    return f"test-{uuid.uuid4().hex[:16]}"


@pytest.fixture
def pool(redis_url: str, stage: str) -> Iterator[QueuePool]:
    """One partition on the shared server, in a keyspace of the test's own."""
    config = PoolConfig(topology=single(redis_url, 1), keyspace=Keyspace(stage))
    with QueuePool(config=config) as made:
        yield made


@pytest.fixture
def partition(pool: QueuePool) -> Partition:
    return pool.partition(0)


@pytest.fixture
def shell(
    redis_url: str,
    stage: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    """Run commands over the keyspace of the test, in an empty directory."""
    monkeypatch.setenv("QUEUEPOOL_URL", redis_url)
    monkeypatch.setenv("QUEUEPOOL_STAGE", stage)
    monkeypatch.setattr("queuepool.cli.commands.status._RATE_OVER_S", 0.0)
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    """Fail a test that leaves a non-daemon thread behind: it would keep a user's process alive."""
    before = set(threading.enumerate())
    yield

    def leaked() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t not in before and not t.daemon]

    try:
        wait_until(lambda: not leaked(), timeout_s=30.0)
    except AssertionError:
        names = ", ".join(sorted(thread.name for thread in leaked()))
        pytest.fail(f"threads still run after the test: {names}; stop or join what started them")


@pytest.fixture(autouse=True)
def logging_is_restored() -> Iterator[None]:
    """Undo what a test sets on loggers: the next one reads what is logged."""
    loggers = [logging.getLogger(name) for name in ("", "queuepool", "consumer", "coordinator")]
    levels, handlers = [logger.level for logger in loggers], loggers[0].handlers[:]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    loggers[0].handlers[:] = [handler for handler in handlers if handler in loggers[0].handlers]


@pytest.fixture
def unraisable_is_dropped() -> Iterator[None]:
    """Nothing is reported of what is raised where nobody can catch it."""
    with unraisable_dropped():
        yield
