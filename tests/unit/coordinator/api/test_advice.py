"""The messages of advice say what is advised, also in a client of another release."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queuepool.cli.display.advice import describe
from queuepool.models.advice import Advice, AdviceKind, Advised
from queuepool.rpc.advice import advised_of, response_of
from tests.unit.telemetry.advice import loads as q

FOUND = Advice(
    kind=AdviceKind.HOT_SLOTS, subject="partition 3", what="w", effect="e", command="c",
    figures={"share": 0.5}, since_ms=5, slots=(17, 99), partition=0,
)  # fmt: skip
ADVISED = Advised(
    at_ms=7,
    loads=replace(q.with_place(q.hot()), spare=("big",), silent={"old": "TimeoutError"}),
    advice=(FOUND, replace(FOUND, kind=AdviceKind.HOT_GROUP, since_ms=None, partition=None)),
)


@pytest.mark.parametrize("cpu", [None, 0.0, 0.5])
def test_advice_and_loads_arrive_as_they_were_sent(cpu: float | None) -> None:
    sent = replace(ADVISED, loads=replace(ADVISED.loads, servers=(q.server(cpu=cpu),)))

    assert advised_of(response_of(sent)) == sent


def test_advice_of_a_later_release_is_left_out() -> None:
    message = response_of(ADVISED)
    message.advice[0].kind = "hot-planet"

    assert [one.kind for one in advised_of(message).advice] == [AdviceKind.HOT_GROUP]


def test_scripts_get_the_groups_by_name() -> None:
    told = describe(ADVISED)

    hottest = told["partitions"][3]
    assert hottest["groups"][0] == {"slot": 0, "group": "g0", "tenant": None, "share": 0.2}
    assert told["advice"][0]["kind"] == "hot-slots"
    assert told["spare_servers"] == ["big"]
    assert told["silent_servers"] == {"old": "TimeoutError"}
