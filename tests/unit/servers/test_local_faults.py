"""What is missing on this machine is not called the server's fault, and says what to do."""

from __future__ import annotations

import errno
import logging
import os
import socket

import pytest
import redis

from consumer.core import events
from consumer.telemetry.report import EventLog
from queuepool import EnqueueStatus, LocalError, UnavailableError
from queuepool.servers import local_faults, wire
from tests.unit.client.faulty import faulty_pool


def as_the_client_raises(cause: OSError) -> redis.ConnectionError:
    """Return an error as redis-py makes one of a socket that was not made."""
    try:
        try:
            raise cause
        except OSError as error:
            raise redis.ConnectionError(f"Error {error.errno} connecting to h:1.")  # noqa: B904
    except redis.ConnectionError as error:
        return error


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EMFILE, "ulimit -n"),
        (errno.ENFILE, "fs.file-max"),
        (errno.ENOMEM, "memory"),
        (errno.EADDRNOTAVAIL, "local port"),
        (errno.ENOENT, "QUEUEPOOL_TLS_CA"),
    ],
)
def test_what_is_missing_here_is_named_with_its_remedy(number: int, remedy: str) -> None:
    error = wire.translate("h:1", as_the_client_raises(OSError(number, os.strerror(number))))

    assert isinstance(error, LocalError)
    assert remedy in str(error)
    assert "nothing was written" in str(error)


@pytest.mark.parametrize(
    ("name", "number"), [("h:1", errno.ECONNREFUSED), ("unix:/s", errno.ENOENT), ("h:1", None)]
)
def test_a_server_that_is_away_is_no_fault_of_this_machine(name: str, number: int | None) -> None:
    cause = OSError() if number is None else OSError(number, os.strerror(number))

    error = wire.translate(name, as_the_client_raises(cause))

    assert isinstance(error, UnavailableError)
    assert not isinstance(error, LocalError)


@pytest.mark.parametrize("lacking", [errno.EMFILE, None])
def test_a_name_that_is_not_found_for_want_of_a_descriptor_is_told_from_any_other(
    monkeypatch: pytest.MonkeyPatch, lacking: int | None
) -> None:
    monkeypatch.setattr(local_faults, "_lacking", lambda: lacking)
    cause = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    error = wire.translate("h:1", as_the_client_raises(cause))

    assert isinstance(error, LocalError) is (lacking is not None)


def test_what_was_never_sent_is_rejected_and_not_unknown() -> None:
    pool, server = faulty_pool(retry_for_s=0.0)

    def fail(*_: object) -> None:
        raise LocalError("h:1", "too many open files")

    server.run_many = server.stream = fail  # type: ignore[method-assign,assignment]

    with pytest.raises(LocalError) as single:
        pool.enqueue("t", {}, partition_key="g")
    with pytest.raises(LocalError) as bulk:
        pool.enqueue_many("t", [{}] * 450, partition_key="g")

    (result,) = single.value.results
    assert result.status is EnqueueStatus.REJECTED
    assert bulk.value.results.unknown == 0


def test_a_consumer_says_what_it_lacks_also_amid_an_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    report = EventLog()
    caplog.set_level(logging.WARNING)
    away, lacking = UnavailableError("h:1: no answer."), LocalError("h:1", "too many open files")

    for error in (away, away, lacking, lacking, away):
        report.listen(events.TurnFailed(error, 1.0))

    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith(str(away))
    assert second.startswith(str(lacking))
