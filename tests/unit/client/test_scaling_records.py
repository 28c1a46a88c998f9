"""Changing the scaling record: by name, seen, and once even if a reply is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from queuepool.client.scaling import ChangedMeanwhileError, ScalingRecords
from queuepool.errors import UnavailableError
from queuepool.testing.server import MemoryServer
from queuepool.verbs import Verb

KEY = b"sys"


def merge(values: Mapping[str, str], changes: Mapping[str, str]) -> Mapping[str, str]:
    return {**values, **changes}


class Lossy(MemoryServer):
    """Loses the replies of some calls, after they were done. meanwhile: runs before a write."""

    def __init__(self, *lost: str) -> None:
        super().__init__()
        self.lost = list(lost)
        self.meanwhile: Callable[[], None] = lambda: None

    def run(self, key: bytes, verbs: Any) -> list[Any]:
        [verb] = verbs
        if verb.script == "set_policy":
            self.meanwhile()
        replies = super().run(key, verbs)
        return [UnavailableError("lost")] if self._loses(verb) else replies

    def _loses(self, verb: Verb[Any]) -> bool:
        if verb.script in self.lost:
            self.lost.remove(verb.script)
            return True
        return False


def test_a_lost_reply_is_no_conflict_and_no_second_change() -> None:
    server = Lossy("set_policy", "set_policy", "read_policy")
    records = ScalingRecords(server, KEY)

    before, after = records.change({"a": "1"}, merge, by="me")

    assert (before.version, after.values) == (0, {"a": "1"})
    assert records.read() == after


def test_a_server_that_is_away_is_told_after_a_few_attempts() -> None:
    server = Lossy(*["set_policy"] * 3)

    with pytest.raises(UnavailableError):
        ScalingRecords(server, KEY).change({"a": "1"}, merge, by="me")

    assert server.lost == []


def test_a_change_in_between_is_a_conflict() -> None:
    server = Lossy()
    records, others = ScalingRecords(server, KEY), ScalingRecords(server, KEY)

    def meanwhile() -> None:
        server.meanwhile = lambda: None
        others.change({"b": "2"}, merge, by="other")

    server.meanwhile = meanwhile
    with pytest.raises(ChangedMeanwhileError, match="nothing was set"):
        records.change({"a": "1"}, merge, by="me")

    assert records.read().values == {"b": "2"}


def test_what_changes_nothing_writes_nothing() -> None:
    records = ScalingRecords(MemoryServer(), KEY)
    _, first = records.change({"a": "1"}, merge, by="me")

    before, after = records.change({"a": "1"}, merge, by="other")

    assert before == after == first
