"""Relays of an outbox that end in the middle of a look."""

from __future__ import annotations

import pytest

from queuepool import UnavailableError
from queuepool.client.outbox.numbers import Numbers
from queuepool.client.outbox.relay import Relay


def look_and_die(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a relay end after it has sent rows, before it deletes them."""

    def dies(_self: Numbers, _numbers: list[int]) -> None:
        raise UnavailableError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(Numbers, "delete", dies)
        with pytest.raises(UnavailableError, match="killed"):
            relay.look()
