"""Commands that only a coordinator answers say where it is, if that is known."""

from __future__ import annotations

import pytest

from queuepool import QueuePool
from queuepool.cli.exits import Exit
from queuepool.verbs.leader import verbs as lead
from tests.shell import Shell

COMMANDS = [("advise",), ("shadow",)]


@pytest.mark.parametrize("words", COMMANDS)
def test_without_a_leader_they_say_how_to_name_or_start_one(
    shell: Shell, words: tuple[str, ...]
) -> None:
    assert shell.run(*words) == Exit.UNAVAILABLE
    assert "name one with --grpc HOST:PORT or QUEUEPOOL_GRPC, or start one" in shell.err


@pytest.mark.parametrize("words", COMMANDS)
def test_the_address_of_a_leader_is_told(
    shell: Shell, pool: QueuePool, words: tuple[str, ...]
) -> None:
    server, key = pool.system_of("default")
    server.run(key, [lead.lead("nonce", lease_ms=60_000, address="ten\x1b[1m:50551")])

    assert shell.run(*words) == Exit.UNAVAILABLE
    assert "name the leader with --grpc ten\\x1b[1m:50551" in shell.err


@pytest.mark.parametrize("words", COMMANDS)
def test_a_server_that_is_away_is_named_first(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("QUEUEPOOL_URL", "redis://127.0.0.1:1")

    assert shell.run(*words) == Exit.UNAVAILABLE
    assert "127.0.0.1:1" in shell.err
    assert "coordinator" not in shell.err
