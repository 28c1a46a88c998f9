"""How an idle owner sleeps: woken by tokens, rings and time, whatever happens to the server."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from queuepool.errors import UnavailableError
from queuepool.servers.doorbell import Doorbell
from queuepool.servers.sync import Server
from queuepool.verbs import Verb
from queuepool.verbs.scripts import script
from tests.conftest import ServerFactory
from tests.waiting import wait_until

LONG_S = 60.0  # what takes half of it was not woken


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server gives a wait up so late that a stall of this process is no matter."""
    monkeypatch.setattr("queuepool.servers.doorbell._BLOCK_S", LONG_S)


@pytest.fixture
def key(stage: str) -> bytes:
    return stage.encode()


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as made:
        yield made


@pytest.fixture
def bell(redis_url: str, key: bytes) -> Iterator[Doorbell]:
    server = Server(redis_url)
    made = server.doorbell(key)
    yield made
    made.close()
    server.close()


BOOK: Verb[Any] = Verb("in_flight", (7,), lambda reply: reply)


def load(client: redis.Redis, key: bytes) -> None:
    """Make the server know the script of BOOK, as an owner's first turn would."""
    client.eval(script("in_flight").code.decode(), 1, key, 7)


def later(seconds: float, action: object) -> threading.Timer:
    timer = threading.Timer(seconds, action)  # type: ignore[arg-type]
    timer.start()
    return timer


def waited(bell: Doorbell, timeout_s: float) -> tuple[bytes | None, float]:
    began = time.monotonic()
    token = bell.wait(timeout_s)
    return token, time.monotonic() - began


@pytest.mark.usefixtures("unhurried")
def test_a_ring_before_the_wait_makes_it_return_at_once(bell: Doorbell) -> None:
    bell.ring()
    token, took_s = waited(bell, LONG_S)
    assert token is None
    assert took_s < LONG_S / 2


@pytest.mark.usefixtures("unhurried")
def test_a_ring_during_the_wait_ends_it(bell: Doorbell) -> None:
    rung: list[float] = []

    def ring() -> None:
        rung.append(time.monotonic())
        bell.ring()

    timer = later(0.1, ring)
    token, took_s = waited(bell, LONG_S)
    assert rung  # it did not return before
    timer.join()
    assert token is None
    assert took_s < LONG_S / 2


def test_each_ring_wakes_once(bell: Doorbell) -> None:
    for _ in range(5):
        bell.ring()
    bell.wait(LONG_S)
    waited(bell, 0.0)  # a second, stale wake-up is allowed
    token, took_s = waited(bell, 0.2)
    assert token is None
    assert took_s >= 0.19


def test_without_any_event_it_sleeps_for_the_timeout(bell: Doorbell) -> None:
    bell.wait(0.05)
    took = [waited(bell, 0.3)[1]]
    while took[-1] >= 2 and len(took) < 5:  # the machine may have stopped us
        took.append(waited(bell, 0.3)[1])
    assert 0.29 <= min(took) < 2


@pytest.mark.parametrize("token", [b"w", b"d", b"c"])
@pytest.mark.usefixtures("unhurried")
def test_a_token_is_returned_whether_it_came_before_or_during_the_wait(
    bell: Doorbell, client: redis.Redis, key: bytes, token: bytes
) -> None:
    client.rpush(key + b":wk", token)
    assert bell.wait(LONG_S) == token

    timer = later(0.1, lambda: client.rpush(key + b":wk", token))
    got, took_s = waited(bell, LONG_S)
    timer.join()
    assert got == token
    assert took_s < LONG_S / 2


def test_a_ring_and_a_token_at_once_lose_neither(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    for _ in range(50):
        client.rpush(key + b":wk", b"w")
        bell.ring()
        tokens = [bell.wait(0.0)]
        while tokens[-1] is None and len(tokens) < 1000:
            tokens.append(bell.wait(0.01))
        assert tokens[-1] == b"w"


@pytest.mark.usefixtures("unhurried")
def test_no_ring_is_lost_among_many(bell: Doorbell) -> None:
    # Workers append first and ring then; whoever waits after each ring must see every item.
    items: list[int] = []
    seen = 0

    def work(start: int) -> None:
        for n in range(500):
            items.append(start + n)
            bell.ring()

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    while seen < 1500:
        _, took_s = waited(bell, LONG_S)
        assert took_s < LONG_S - 0.5, "a ring was lost"
        seen = len(items)
    for thread in threads:
        thread.join(LONG_S)
    assert seen == 1500


def test_closing_is_idempotent_and_ringing_stays_legal(bell: Doorbell) -> None:
    bell.wait(0.01)
    bell.close()
    bell.close()
    bell.ring()


def test_a_closed_bell_takes_no_token(bell: Doorbell, client: redis.Redis, key: bytes) -> None:
    bell.wait(0.05)
    bell.close()
    wait_until(lambda: client.info("clients")["blocked_clients"] == 0)
    client.rpush(key + b":wk", b"w")
    assert client.lrange(key + b":wk", 0, -1) == [b"w"]


def test_it_hears_again_after_its_connection_was_killed(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    bell.wait(0.05)
    client.client_kill_filter(_type="normal", skipme=True)
    client.rpush(key + b":wk", b"w")
    wait_until(lambda: bell.wait(0.1) == b"w")


def test_it_hears_again_after_the_server_was_restarted(
    server_factory: ServerFactory, key: bytes
) -> None:
    embedded = server_factory()
    server = Server(embedded.url, timeout_s=LONG_S)
    bell = server.doorbell(key)
    try:
        bell.wait(0.05)
        embedded.kill()
        for _ in range(10):  # away: it neither raises nor spins nor blocks
            _, took_s = waited(bell, 0.05)
            assert took_s < LONG_S / 2
        embedded.start()
        with redis.Redis.from_url(embedded.url) as client:
            client.rpush(key + b":wk", b"w")

        wait_until(lambda: bell.wait(0.1) == b"w")
    finally:
        bell.close()
        server.close()


def test_a_server_that_is_away_does_not_make_it_spin(key: bytes) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        server = Server(f"redis://127.0.0.1:{nobody.getsockname()[1]}/0", timeout_s=1.0)
        bell = server.doorbell(key)
        began, rounds = time.monotonic(), 0
        while time.monotonic() - began < 0.5:
            bell.wait(0.1)
            rounds += 1
        bell.close()
        server.close()
    assert rounds <= 8


def test_a_stalled_server_delays_nobody_who_rings_and_is_heard_again(
    server_factory: ServerFactory, key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuepool.servers.doorbell._BLOCK_S", 0.2)
    embedded = server_factory()
    server = Server(embedded.url, timeout_s=0.3)
    bell = server.doorbell(key)
    try:
        wait_until(lambda: bell.wait(0.05) or bell._link is not None)
        half_open = bell._link
        os.kill(embedded.pid, signal.SIGSTOP)
        timer = later(0.1, bell.ring)
        _, took_s = waited(bell, LONG_S)
        timer.join()
        assert took_s < LONG_S / 2
        wait_until(lambda: bell.wait(0.1) or bell._link is not half_open)
        os.kill(embedded.pid, signal.SIGCONT)
        with redis.Redis.from_url(embedded.url) as client:
            client.rpush(key + b":wk", b"w")
        wait_until(lambda: bell.wait(0.1) == b"w")
    finally:
        os.kill(embedded.pid, signal.SIGCONT)
        bell.close()
        server.close()


def test_a_connection_that_only_seems_open_is_dropped_in_time(
    key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Something accepts and never answers: neither the connecting nor the waiting may hang.
    monkeypatch.setattr("queuepool.servers.doorbell._BLOCK_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        server = Server(f"redis://127.0.0.1:{mute.getsockname()[1]}/0", timeout_s=0.3)
        bell = server.doorbell(key)
        dropped: list[int] = []
        drop = bell._drop

        def note_and_drop() -> None:
            dropped.append(1)
            drop()

        monkeypatch.setattr(bell, "_drop", note_and_drop)
        took = sorted(waited(bell, 0.1)[1] for _ in range(8))
        assert took[4] < 3.0  # the machine may have stopped us meanwhile
        assert dropped
        bell.close()
        server.close()


def claimed(bell: Doorbell) -> object:
    """Wait until the armed verb was answered."""
    for _ in range(int(LONG_S / 0.1)):
        bell.wait(0.1)
        reply = bell.answer()
        if reply is not None:
            return reply
    raise AssertionError("never answered")


@pytest.mark.usefixtures("unhurried")
def test_an_armed_verb_runs_with_the_token_and_not_before(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    assert bell.arm(BOOK)
    assert not bell.arm(BOOK)  # one at a time
    bell.wait(0.05)
    assert bell.answer() is None
    client.zadd(key + b":fl:7", {b"job": 1})
    client.rpush(key + b":wk", b"w")

    assert bell.wait(LONG_S) == b"w"
    assert bell.answer() == [b"job"]
    assert bell.answer() is None


def test_an_armed_verb_runs_without_a_token_after_a_second(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    began = time.monotonic()
    assert bell.arm(BOOK)
    assert claimed(bell) == []
    assert time.monotonic() - began > 0.9


@pytest.mark.usefixtures("unhurried")
def test_an_armed_verb_behind_a_wait_under_way_comes_with_its_token(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    bell.wait(0.05)
    client.rpush(key + b":wk", b"c")
    assert bell.arm(BOOK)
    assert bell.wait(LONG_S) == b"c"
    assert bell.answer() == []


def test_an_armed_verb_whose_connection_dies_is_answered_with_an_error(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    assert bell.arm(BOOK)
    client.client_kill_filter(_type="normal", skipme=True)
    assert isinstance(claimed(bell), UnavailableError)

    wait_until(lambda: bell.arm(BOOK) or bell.wait(0.01) is not None)
    client.rpush(key + b":wk", b"w")
    assert claimed(bell) == []


def test_a_verb_that_is_given_up_is_answered_at_once(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    assert bell.arm(BOOK)
    bell.disarm()
    assert isinstance(bell.answer(), UnavailableError)
    assert bell.answer() is None


@pytest.mark.usefixtures("unhurried")
def test_an_armed_verb_that_the_server_does_not_know_is_answered_with_an_error(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    client.script_flush()
    assert bell.arm(BOOK)
    client.rpush(key + b":wk", b"w")

    assert isinstance(claimed(bell), UnavailableError)
    assert bell.wait(0.05) is None  # the connection is in order
    client.rpush(key + b":wk", b"w")
    assert bell.wait(LONG_S) == b"w"


def connected(client: redis.Redis, lifeline: str) -> bool:
    return bool(client.client_list(client_id=[lifeline.split(":")[1]]))


def test_a_connection_that_is_given_up_stays_open_until_standbys_know_the_next(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    bell.wait(0.0)
    first = bell.lifeline
    assert bell.arm(BOOK)

    bell.disarm()

    assert isinstance(bell.answer(), UnavailableError)
    assert bell.lifeline == first
    assert connected(client, first)
    wait_until(lambda: bell.wait(0.05) or bell.lifeline != first)
    assert connected(client, first)
    bell.settle()
    wait_until(lambda: not connected(client, first))
    assert connected(client, bell.lifeline)


def test_it_has_a_lifeline_before_its_owner_sleeps(bell: Doorbell, client: redis.Redis) -> None:
    assert connected(client, bell.lifeline)


def test_a_lifeline_that_the_server_closes_is_none_at_once(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    bell.wait(0.0)
    first = bell.lifeline
    assert bell.arm(BOOK)
    bell.disarm()

    client.client_kill_filter(_id=first.split(":")[1])

    bell.wait(0.04)  # before it connects again
    wait_until(lambda: bell.wait(0.05) or bell.lifeline != first)


def test_no_more_than_two_connections_are_kept_open(
    bell: Doorbell, client: redis.Redis, key: bytes
) -> None:
    load(client, key)
    seen: set[str] = set()
    for _ in range(4):
        wait_until(lambda: bell.wait(0.05) or bell.lifeline not in {"", *seen})
        seen.add(bell.lifeline)
        assert bell.arm(BOOK)
        bell.disarm()
        bell.answer()

    # The server learns of an end after its client
    wait_until(lambda: sum(connected(client, lifeline) for lifeline in seen) <= 2)
    assert sum(connected(client, lifeline) for lifeline in seen) == 2
