"""A server of each engine whose only users are those of `queuepool acl`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.roles import GuardedServer, guarded_server


@pytest.fixture
def guarded(engine_binary: Path, stage: str, tmp_path: Path) -> Iterator[GuardedServer]:
    with guarded_server(engine_binary, stage, tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def shared(
    engine_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GuardedServer]:
    """One for tests that change nothing."""
    directory = tmp_path_factory.mktemp("acl")
    with guarded_server(engine_binary, "shared", directory) as server:
        yield server
