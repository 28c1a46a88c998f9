"""Settings are understood by the names that they had before."""

import pytest

from consumer.settings import ConsumerSettings
from queuepool.settings.environment import load


def test_prefetch_is_understood_by_its_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSUMER_LOOKAHEAD", "7")
    assert load(ConsumerSettings).prefetch == 7

    monkeypatch.setenv("CONSUMER_PREFETCH", "9")
    assert load(ConsumerSettings).prefetch == 9
