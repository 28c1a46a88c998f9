"""The system page: consumers are found and drained; lists of very many stay short."""

import time

import pytest

from queuepool.models import Schedule
from queuepool.models.advice import Advice, AdviceKind, Advised, Loads
from queuepool.partitions.partition import OwnedPartition
from queuepool.rpc.advice import response_of
from queuepool.settings.changed import HIDDEN
from queuepool.web.live.board import Board
from tests.unit.web.conftest import OPERATOR, Browser, MakeSite, Site
from tests.unit.web.test_pages import registry


def test_a_consumer_is_drained_by_each_partition_that_it_owns(
    site: Site, operator: Browser, viewer: Browser
) -> None:
    owned = site.pool.partition(2).acquire(lease_s=60, host="host:2", nonce="n")
    assert isinstance(owned, OwnedPartition)
    site.coordinator.states[2].owner.epoch = owned.epoch
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time())
    assert 'aria-label="Drain host:2"' in operator.text("/system")
    assert "Drain host:2" not in viewer.text("/system")
    assert viewer.post("/system/drain", page="/system", consumer="host:2").status_code == 403

    operator.post("/system/drain", page="/system", consumer="host:2", reason="old machine")

    assert operator.note() == (
        "Consumer host:2 drains: its 0 running jobs end, and another may take over."
    )
    state = site.pool.partition(2).observe()
    assert state.owner is not None
    assert state.owner.to_end
    (entry,) = site.pool.log()
    assert (entry.what, entry.subject, entry.why) == ("drain", "consumer host:2", "old machine")

    operator.post("/system/drain", page="/system", consumer="host:1")  # its epoch is not that
    assert "other consumers own its partitions by now" in operator.note()
    operator.post("/system/drain", page="/system", consumer="<b>nobody")
    assert "owns no partition any more" in operator.note()


def test_a_drain_without_a_coordinator_says_that_it_is_away(site: Site, operator: Browser) -> None:
    site.desk.watcher.stop()
    site.desk.board = site.desk.watcher._board = Board()
    site.desk.board.fail("no coordinator responds")

    assert "Not known: no coordinator responds" in operator.text("/system")
    operator.post("/system/drain", page="/system", consumer="host:2")

    assert operator.note() == (
        "no coordinator responds: nobody says which partitions this consumer owns"
    )


def test_a_consumer_is_shown_with_its_release(site: Site, operator: Browser) -> None:
    site.coordinator.states[2].owner.version = "0.9.7"
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time())

    assert "<td>0.9.7</td>" in operator.text("/system")


def test_advice_is_shown_with_the_command_that_helps(
    site: Site, operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Advice" not in operator.text("/system")
    one = Advice(
        kind=AdviceKind.HOT_GROUP,
        subject="group <b>import",
        what="group <b>import takes 90 % of partition 2",
        effect="its jobs would run in four partitions",
        command="queuepool group spread import 4",
        since_ms=round(time.time() * 1000) - 300_000,
    )
    advised = Advised(at_ms=1, loads=Loads(over_s=300), advice=(one,))
    site.coordinator.answers["Advise"] = response_of(advised)
    site.desk.forget()

    text = operator.text("/system")

    assert "group <b>import takes 90 % of partition 2" in text
    assert "group &lt;b&gt;import takes" in operator.get("/system").text
    assert "its jobs would run in four partitions" in text
    assert "<code>queuepool group spread import 4</code>" in text
    assert "for 5m" in text

    def away(_request: object) -> None:
        raise ConnectionError("nobody is there")

    monkeypatch.setattr(site.coordinator, "Advise", away, raising=False)
    site.desk.forget()
    assert "Advice" not in operator.text("/system")


def test_lists_of_very_many_are_paged_and_found_by_a_part_of_a_name(make_site: MakeSite) -> None:
    site = make_site(1000)
    site.pool.producer.registry = registry
    site.coordinator.states[777].draining = 1
    for n in range(120):
        site.pool.schedules.set(Schedule(f"often-{n}", "send", {"to": "x"}, every="10m"))
    browser = site.browser(OPERATOR)

    system, schedules = browser.text("/system"), browser.text("/schedules")

    assert len(system) < 100_000
    assert len(schedules) < 100_000
    assert "1 to 50 of 1,000" in system
    assert 'href="/system?page=2">Next</a>' in system
    assert system.index("Drain host:777") < system.index("Drain host:0")
    assert "1 to 40 of 120" in schedules
    assert "81 to 120 of 120" in browser.text("/schedules?page=3")
    last = browser.text("/system?page=20")
    assert "951 to 1,000 of 1,000" in last
    assert "Next" not in last
    assert "Drain host:999" in browser.text("/system?consumer=999")
    assert "1 to 50 of 271" in browser.text("/system?consumer=9")
    assert 'href="/system?consumer=9&page=2"' in browser.text("/system?consumer=9")
    assert "None has that in its name" in browser.text("/system?consumer=<b>")
    assert "often-119" in browser.text("/schedules?name=-119")


def test_settings_that_differ_are_shown_of_the_page_and_of_the_coordinator(
    make_site: MakeSite,
) -> None:
    site = make_site(masked="password,iban", secret="0123456789abcdef")
    browser = site.browser(OPERATOR)
    site.coordinator.cluster.settings.add(name="COORDINATOR_CYCLE_S", value="<b>0.5")
    site.desk.board.take(site.coordinator.states, site.coordinator.cluster, time.time())

    text = browser.get("/system").text

    assert "QUEUEPOOL_WEB_MASKED</dt><dd>password,iban" in text
    assert f"QUEUEPOOL_WEB_SECRET</dt><dd>{HIDDEN}" in text
    assert "0123456789abcdef" not in text
    assert "COORDINATOR_CYCLE_S</dt><dd>&lt;b&gt;0.5" in text
    assert "QUEUEPOOL_WEB_HOST" not in text  # as it is by default
