"""The ledger: pages of one partition and of all, bounded, with outcomes, whatever is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from coordinator.core.model import Inputs, Mode
from coordinator.decisions.ledger import DecisionBook, DecisionRecord, Outcome
from coordinator.decisions.stored import encode_outcome
from queuepool.errors import InvalidInputError, ScriptError, UnavailableError
from queuepool.servers import Reply
from queuepool.testing.server import MemoryServer
from queuepool.verbs import Verb
from queuepool.verbs.leader import verbs as lead
from tests.unit.coordinator.decisions.test_stored import OLD

KEY = b"sys"
SEEN = Inputs(backlog=5, workers=8, busy=8, reported=8, pwqd=0.625, finished_total=1, in_flight=8)


class Ledger:
    """A ledger in memory, of so many partitions."""

    def __init__(self, partitions: int = 3, keep: int = 10_000) -> None:
        self.now_s = 1_000.0
        self.server = MemoryServer(lambda: self.now_s)
        verb = lead.lead("n", lease_ms=10**9, address="")
        self.epoch = verb.read(self.server.run(KEY, [verb])[0]).epoch
        self.book = DecisionBook(self.server, KEY, keep=keep, partitions=partitions)
        self.cycle = 0

    def decide(self, partition: int, target: int, *, previous: int = 8) -> None:
        self.cycle += 1
        self.now_s += 1
        made = DecisionRecord(
            partition=partition, mode=Mode.AUTOMATIC, previous=previous, target=target,
            reason=f"{self.cycle}", inputs=SEEN, at_ms=round(self.now_s * 1000), epoch=self.epoch,
            cycle=self.cycle, policy="sized", version=1,
        )  # fmt: skip
        assert self.book.write(self.epoch, [made]) == 0

    def all(self, partition: int | None = None, size: int = 4) -> list[DecisionRecord]:
        found, token = list[DecisionRecord](), ""
        while True:
            page, token = self.book.page(token, size, partition)
            found += [record for _, record in page]
            if not token:
                return found


class Unplugged(MemoryServer):
    """A server in memory that can be down; it counts the calls."""

    is_down, calls = False, 0

    def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
        self.calls += 1
        if self.is_down:
            raise UnavailableError("memory: no answer")
        return super().run(key, verbs)


def decided(epoch: int, partitions: int) -> list[DecisionRecord]:
    return [
        DecisionRecord(
            partition=n, mode=Mode.AUTOMATIC, previous=8, target=16, reason="", inputs=SEEN,
            at_ms=1, epoch=epoch, cycle=1, policy="sized", version=1,
        )
        for n in range(partitions)
    ]  # fmt: skip


@pytest.mark.thorough
def test_a_cycle_in_which_4_000_partitions_are_decided_loses_none() -> None:
    ledger = Ledger(4_000, keep=200_000)

    lost = ledger.book.write(ledger.epoch, decided(ledger.epoch, 4_000))

    assert lost == 0
    assert [len(ledger.book.page("", 10, n)[0]) for n in range(4_000)] == [1] * 4_000
    assert len(ledger.book.page("", 10)[0]) == 10


def test_while_its_server_is_down_a_cycle_asks_once_and_counts_what_has_no_room() -> None:
    server = Unplugged(lambda: 1_000.0)
    verb = lead.lead("n", lease_ms=10**9, address="")
    epoch = verb.read(server.run(KEY, [verb])[0]).epoch
    book = DecisionBook(server, KEY, keep=200_000, partitions=4_000)
    server.is_down, server.calls = True, 0

    assert book.write(epoch, decided(epoch, 4_000)) == 3_000
    assert server.calls == 1
    server.is_down = False
    assert book.write(epoch, []) == 0
    assert [len(book.page("", 10, n)[0]) for n in (2_999, 3_000, 3_999)] == [0, 1, 1]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_pages_join_to_all_there_is_the_newest_first(size: int) -> None:
    ledger = Ledger()
    for n in range(40):
        ledger.decide((n * n) % 3, n)

    every = ledger.all(None, size)
    one = ledger.all(1, size)

    assert [record.target for record in every] == list(reversed(range(40)))
    assert [r.target for r in one] == [n for n in reversed(range(40)) if n * n % 3 == 1]
    assert {record.partition for record in one} == {1}


def test_decisions_of_one_moment_are_all_listed() -> None:
    ledger = Ledger()
    for n in range(12):
        ledger.decide(n % 3, n)
        ledger.now_s = 1_000.0

    assert sorted(record.target for record in ledger.all(None, 2)) == list(range(12))


def test_a_busy_partition_pushes_out_nothing_of_a_quiet_one() -> None:
    ledger = Ledger(partitions=2, keep=300)
    ledger.decide(0, 99)
    for n in range(400):
        ledger.decide(1, n)

    assert [record.target for record in ledger.all(0)] == [99]
    assert len(ledger.all(1, 100)) == 150


def test_the_outcome_is_stored_or_told_by_the_next_decision() -> None:
    ledger = Ledger()
    ledger.decide(0, 9)
    told = Outcome(at_ms=77, cycles=5, workers=9, busy=2, backlog=1, finished_per_s=3.5)
    ledger.book.write_texts(ledger.epoch, [(0, encode_outcome(ledger.epoch, 1, told))])
    ledger.decide(0, 10)
    ledger.decide(1, 5)
    ledger.decide(0, 11)

    for size in (1, 2, 100):
        assert ledger.all(None, size) == ledger.all(None, 99)
        last, second, first = ledger.all(0, size)
        assert (last.outcome, first.outcome) == (None, told)
        assert second.outcome is not None
        assert (second.outcome.cycles, second.outcome.backlog) == (2, 5)


def test_a_moment_is_explained_by_the_last_decision_and_the_last_change() -> None:
    ledger = Ledger()
    for target, previous in ((9, 8), (9, 9), (12, 9), (12, 12), (12, 12)):
        ledger.decide(0, target, previous=previous)

    def why(at_ms: int | None) -> list[str]:
        return [record.reason for _, record in ledger.book.why(0, at_ms)]

    assert why(None) == ["5", "3"]
    assert why(1_003_500) == ["3"]
    assert why(1_002_500) == ["2", "1"]
    assert why(1_000_500) == []
    assert why(2**62) == ["5", "3"]
    assert why(-(2**62)) == []
    assert ledger.book.why(2, None) == []
    outcome = ledger.book.why(0, 1_003_500)[0][1].outcome
    assert outcome is not None
    assert outcome.cycles == 1


def test_after_the_clock_went_back_the_last_decisions_are_still_the_last() -> None:
    ledger = Ledger()
    ledger.decide(0, 9)
    ledger.now_s -= 500_000
    ledger.decide(0, 10)

    assert [record.target for record in ledger.all(0)] == [10, 9]
    assert [r.target for _, r in ledger.book.why(0, None)] == [10]


def test_what_an_earlier_release_stored_comes_after_all_others() -> None:
    import json

    ledger = Ledger()
    ledger.decide(1, 40)
    old = [json.dumps(OLD | {"partition": n % 2, "target": n}).encode() for n in range(5)]
    data = ledger.server._systems[KEY]
    data.decisions[b""] = [((n, 0), text) for n, text in enumerate(old)]

    for size in (1, 2, 100):
        assert [r.target for r in ledger.all(None, size)] == [40, 4, 3, 2, 1, 0]
        assert [r.target for r in ledger.all(1, size)] == [40, 3, 1]
    assert [r.target for _, r in ledger.book.why(0, None)] == [4]


def test_what_cannot_be_read_is_skipped() -> None:
    ledger = Ledger()
    ledger.decide(0, 1)
    junk = [(0, text) for text in (b"", b"[", b"{}", b"[3,1]", b"\xff", b"x" * 20_000)]
    ledger.book.write_texts(ledger.epoch, junk)
    ledger.decide(0, 2)

    assert [record.target for record in ledger.all(0, 1)] == [2, 1]
    assert [record.target for record in ledger.all(None, 1)] == [2, 1]


@pytest.mark.parametrize("token", ["x", "1", "1-2-x", "~", "~x-1", "1-" + "9" * 20, "٣-٣", "-1-2"])
def test_a_token_of_another_origin_is_refused(token: str) -> None:
    with pytest.raises(InvalidInputError, match="next_page_token"):
        Ledger().book.page(token, 5)


def test_a_foreign_value_in_the_place_of_one_partition_costs_only_its_own_records() -> None:
    ledger = Ledger()
    run = ledger.server.run

    class Foreign(MemoryServer):
        def run(self, key: bytes, verbs: Sequence[Verb[Any]]) -> list[Reply]:
            if any(1 in verb.args[2::2] for verb in verbs if verb.script == "record"):
                return [ScriptError("WRONGTYPE: Another program writes there") for _ in verbs]
            return run(key, verbs)

    book = DecisionBook(Foreign(), KEY, keep=1_000, partitions=3)
    texts = [(n, encode_outcome(ledger.epoch, 1, Outcome(
        at_ms=1, cycles=1, workers=1, busy=1, backlog=1, finished_per_s=1.0,
    ))) for n in (0, 1, 2)]  # fmt: skip

    assert book.write_texts(ledger.epoch, texts) == 1
    assert set(ledger.server._systems[KEY].decisions) == {b"0", b"2"}
    assert book.write_texts(ledger.epoch, []) == 0
