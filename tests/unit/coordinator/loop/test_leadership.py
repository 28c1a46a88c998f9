from typing import Any

from coordinator.loop.leadership import Leadership
from queuepool.errors import ScriptError
from queuepool.verbs import Verb
from tests.unit.coordinator.ports import Clock, FakeServer


def make(leading: bool = True) -> tuple[Leadership, FakeServer, Clock]:
    def answer(_key: bytes, verb: Verb[Any]) -> Any:
        return [int(leading), b"77", 5_000, 5_000, b"host:1", []] if verb.script == "lead" else 1

    clock, server = Clock(), FakeServer(answer)
    return Leadership(server, b"sys", lease_s=5.0, address="host:1", clock=clock), server, clock


def test_before_the_first_answer_nobody_leads() -> None:
    leadership, _, _ = make()

    assert not leadership.leads()
    assert leadership.epoch == 0


def test_a_granted_lead_holds_until_shortly_before_the_lease_can_end() -> None:
    leadership, _, clock = make()

    standing = leadership.renew()

    assert standing.leading
    assert leadership.epoch == 77
    clock.now_s += 4.4
    assert leadership.leads()
    clock.now_s += 0.2  # 4.6 of 5 s: the server may count a little faster than we do
    assert not leadership.leads()


def test_the_lease_counts_from_before_the_call_was_sent() -> None:
    leadership, server, clock = make()
    grant = server.answer

    def slow(key: bytes, verb: Verb[Any]) -> Any:
        clock.now_s += 4.0
        return grant(key, verb)

    server.answer = slow
    leadership.renew()

    clock.now_s += 0.6
    assert not leadership.leads()


def test_an_outage_ends_the_lead_by_our_own_clock() -> None:
    leadership, server, clock = make()
    leadership.renew()
    server.away = True

    clock.now_s += 1.0
    during = leadership.renew()
    clock.now_s += 4.0
    after = leadership.renew()

    assert (during.leading, during.answered) == (True, False)
    assert (after.leading, after.answered) == (False, False)
    assert during.error is not None


def test_a_refusal_of_the_server_is_no_crash() -> None:
    leadership, server, _ = make()
    server.answer = lambda _key, _verb: ScriptError("fake refused")

    standing = leadership.renew()

    assert (standing.leading, standing.answered) == (False, False)


def test_after_resigning_this_process_does_not_lead() -> None:
    leadership, server, _ = make()
    leadership.renew()

    assert leadership.resign()

    assert not leadership.leads()
    assert server.asked[-1][1].script == "resign"


def test_a_standby_does_not_lead_however_long_the_lease() -> None:
    leadership, _, _ = make(leading=False)

    assert not leadership.renew().leading
    assert not leadership.leads()
