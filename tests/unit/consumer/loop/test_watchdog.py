"""When a process says that it is ill, and when it ends itself."""

import threading

import pytest

from consumer.core.liveness import Liveness
from consumer.loop.watchdog import Watchdog, verdict
from queuepool.errors import UnavailableError
from tests.waiting import wait_until

STALL_S = 30.0


@pytest.mark.parametrize(
    ("passed", "turned", "answering", "ends"),
    [
        (0, 0, None, False),  # healthy
        (1, 29, 0, False),
        (1, 500, None, False),  # the server is down: a restart fixes nothing
        (1, 31, 29, False),  # it has just come back
        (1, 31, 31, True),  # deaf: it answers others, not us
        (1, 500, 31, True),
        (59, 59, None, False),
        (61, 61, None, True),  # hung: the loop itself does not pass
        (61, 0, None, True),
    ],
)
def test_verdict(passed: float, turned: float, answering: float | None, ends: bool) -> None:
    why = verdict(
        now_s=1000.0,
        last_pass_s=1000.0 - passed,
        last_reply_s=1000.0 - turned,
        stall_s=STALL_S,
        answering_s=None if answering is None else 1000.0 - answering,
    )
    assert (why is not None) is ends


class Patient:
    """A pulse that the test moves, and a server that it lets answer or not."""

    def __init__(self, stall_s: float) -> None:
        from time import monotonic

        self.liveness = Liveness(monotonic(), monotonic())
        self.away = False
        self.probes = 0
        self.ended = threading.Event()
        self.watchdog = Watchdog(self.liveness, stall_s, self.probe, lambda _: self.ended.set())

    def probe(self) -> None:
        self.probes += 1
        if self.away:
            raise UnavailableError("away")

    def beat(self) -> None:
        from time import monotonic

        self.liveness.last_pass_s = monotonic()


def watch(patient: Patient, monkeypatch: pytest.MonkeyPatch, *, looks: int, turned: bool) -> None:
    """Let the watchdog look so often, by a clock of its own; the loop passes before each look."""
    pulse = patient.liveness
    monkeypatch.setattr("consumer.loop.watchdog.monotonic", lambda: pulse.last_pass_s)
    left = looks

    def wait(seconds: float) -> bool:
        nonlocal left
        left -= 1
        pulse.last_pass_s += seconds
        if turned:
            pulse.last_reply_s = pulse.last_pass_s
        return left < 0

    monkeypatch.setattr(patient.watchdog._stopping, "wait", wait)
    patient.watchdog._run()


def test_a_living_loop_is_left_alone_and_the_server_is_not_even_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patient = Patient(stall_s=0.2)
    watch(patient, monkeypatch, looks=30, turned=True)
    assert not patient.ended.is_set()
    assert patient.probes == 0
    assert patient.watchdog.problem() is None


def test_an_outage_makes_it_ill_and_never_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    patient = Patient(stall_s=0.1)
    patient.away = True
    watch(patient, monkeypatch, looks=40, turned=False)
    assert patient.probes > 30
    assert not patient.ended.is_set()
    assert "no successful turn" in (patient.watchdog.problem() or "")
    patient.liveness.last_reply_s = patient.liveness.last_pass_s
    assert patient.watchdog.problem() is None


def test_a_deaf_loop_is_ended() -> None:
    patient = Patient(stall_s=0.1)
    patient.watchdog.start()

    def ended() -> bool:
        patient.beat()
        return patient.ended.is_set()

    wait_until(ended)


def test_a_hung_loop_is_ended_even_when_the_server_is_away() -> None:
    patient = Patient(stall_s=0.1)
    patient.away = True
    patient.watchdog.start()
    assert patient.ended.wait(60)


def test_stop_before_start_is_legal() -> None:
    Patient(stall_s=1).watchdog.stop()


def test_a_process_that_was_stopped_as_a_whole_has_its_turn_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr("consumer.loop.watchdog.monotonic", lambda: now)
    patient = Patient(stall_s=2.0)
    patient.liveness.last_pass_s = patient.liveness.last_reply_s = now
    looks = iter([False, False, True])

    def wait(_: float) -> bool:
        nonlocal now
        now += 60.0 if patient.probes == 0 else 0.5
        return next(looks, True)

    monkeypatch.setattr(patient.watchdog._stopping, "wait", wait)
    patient.watchdog._run()

    assert not patient.ended.is_set()
