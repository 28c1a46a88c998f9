"""A setting that was renamed is still read under its old name, from a variable and from a flag."""

import pytest

from coordinator.__main__ import _parse
from coordinator.settings import load


def test_the_old_variable_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDINATOR_HELP_CHECK", "false")

    assert not load({}).gain_check


def test_the_new_variable_comes_before_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDINATOR_HELP_CHECK", "false")
    monkeypatch.setenv("COORDINATOR_GAIN_CHECK", "true")

    assert load({}).gain_check


def test_the_old_flag_counts() -> None:
    assert _parse(["--help-check", "false"]) == {"gain_check": "false"}
