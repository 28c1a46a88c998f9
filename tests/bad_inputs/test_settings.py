"""Settings that cannot work: every problem at once, each with its variable, and exit code 2."""

import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_settings import BaseSettings

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from coordinator.settings import load as load_coordinator
from queuepool.errors import ConfigurationError
from queuepool.settings.config import PoolConfig
from queuepool.settings.environment import QueuePoolSettings, load
from tests.bad_inputs.conftest import APP
from tests.paths import ROOT
from tests.shell import Shell

CANARY = "hunter2"
POOL = {
    "QUEUEPOOL_URL": f"ftp://u:{CANARY}@h",
    "QUEUEPOOL_PARTITIONS": "many",
    "QUEUEPOOL_TIMEOUT_S": "nan",
    "QUEUEPOOL_RETRY_FOR_S": "60",
    "QUEUEPOOL_STAGE": "a/{b",
    "QUEUEPOOL_QUEUE": "x" * 65,
    "QUEUEPOOL_MAX_PAYLOAD_BYTES": "-1",
}
CONSUMER = {
    "CONSUMER_WORKERS": "0",
    "CONSUMER_MAX_WORKERS": "2",  # below the 8 workers that are the default
    "CONSUMER_LEASE_S": "0.1",
    "CONSUMER_WEIGHTS": "nan,1,1,1",
    "CONSUMER_TIERS": "none",
    "CONSUMER_PARTITION": "-1",
    "CONSUMER_DEAD_KEEP_S": "inf",
}
COORDINATOR = {
    "COORDINATOR_CYCLE_S": "x",
    "COORDINATOR_LEASE_S": "1",  # shorter than two turns
    "COORDINATOR_MAX_WORKERS": "2",  # below the 8 workers that are the default
    "COORDINATOR_GRPC_PORT": "99999",
    "COORDINATOR_POLICY": "magic",
    "COORDINATOR_GRPC_TLS_CERT": "/no/such/file",
    "COORDINATOR_GRPC_TLS_KEY": "/no/such/file",
}


def run(directory: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as people do, with these variables alone."""
    ours = ("QUEUEPOOL_", "CONSUMER_", "COORDINATOR_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return subprocess.run(
        [sys.executable, "-m", "queuepool", *words],
        env={**env, **variables, "PYTHONPATH": str(ROOT)},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (["check"], POOL),
        (["consumer", "--app", APP], POOL | CONSUMER),
        (["coordinator"], POOL | COORDINATOR),
        (["up", "--app", APP], POOL),
        (["up", "--app", APP, "--partitions", "1"], CONSUMER | COORDINATOR),
        (["status"], POOL),
    ],
    ids=["check", "consumer", "coordinator", "up", "up with bad children", "status"],
)
def test_every_problem_is_printed_at_once_with_its_variable(
    tmp_path: Path, words: list[str], variables: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if words[0] in ("check", "status"):
        monkeypatch.chdir(tmp_path)
        code, out, err = Shell(capsys).run_with(*words, **variables)
    else:
        done = run(tmp_path, *words, **variables)
        code, out, err = done.returncode, done.stdout, done.stderr

    printed = out + err
    # `up` itself sets the partition of its consumers.
    expected = variables.keys() - ({"CONSUMER_PARTITION"} if "--partitions" in words else set())
    assert [name for name in expected if name not in printed] == []
    assert code == 2, printed
    assert "Traceback" not in printed
    assert CANARY not in printed


ODD = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=8)
WORDS = [
    "0", "1", "-1", "2", "8", "100", "1e300", "1e-300", "inf", "-inf", "nan", "9" * 22, "0.1",
    "0.25", "true", "null", "{}", "[]", "²", "٣", "1_000", "+5", "0x10", "auto", "strict", "pwqd",
    "aimd", "ratio", "static", "redis://h", "redis://h:99999", "unix://", "http://h", "text",
    '{"a":"redis://h"}', "0-3=main", "6,3,2,1", "INFO", "/dev/null",
]  # fmt: skip
VALUES = st.one_of(
    ODD,
    st.sampled_from(WORDS),
    st.integers().map(str),
    st.floats().map(str),
    st.just("9" * 5_000),
)


def given_settings(kind: type[BaseSettings]) -> st.SearchStrategy[dict[str, str]]:
    """Variables of one kind of settings, with any values."""
    prefix = str(kind.model_config.get("env_prefix"))
    names = [f"{prefix}{name.upper()}" for name in kind.model_fields]
    return st.dictionaries(st.sampled_from(names), VALUES, max_size=6)


def read(make: Any, variables: dict[str, str], prefix: str) -> Any:
    """Return the settings, or None when they were refused as they should."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith(prefix)]:
            patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        try:
            return make()
        except ConfigurationError as error:
            lines = str(error).splitlines()
    assert lines
    assert any(prefix in line for line in lines), lines
    return None


def finite(settings: BaseSettings) -> bool:
    return all(
        math.isfinite(value) for value in dict(settings).values() if isinstance(value, float)
    )


@given(given_settings(QueuePoolSettings))
def test_any_settings_of_a_pool_are_refused_or_work(variables: dict[str, str]) -> None:
    settings = read(lambda: load(QueuePoolSettings), variables, "QUEUEPOOL_")

    if settings is not None:
        assert finite(settings)
        if settings.url or settings.servers:
            assert isinstance(settings.pool_config(), PoolConfig)


@given(given_settings(ConsumerSettings))
def test_any_settings_of_a_consumer_are_refused_or_work(variables: dict[str, str]) -> None:
    settings = read(lambda: load(ConsumerSettings), variables, "CONSUMER_")

    if settings is not None:
        assert finite(settings)
        assert all(0 <= weight <= 100 for weight in settings.tier_weights)
        assert settings.workers <= settings.most_workers <= 4096
        assert settings.partition == "auto" or int(settings.partition) >= 0


@given(given_settings(CoordinatorSettings))
def test_any_settings_of_a_coordinator_are_refused_or_work(variables: dict[str, str]) -> None:
    settings = read(lambda: load_coordinator({}), variables, "COORDINATOR_")

    if settings is not None:
        assert finite(settings)
        limits = settings.limits()
        assert 1 <= limits.min_workers <= limits.max_workers <= 4096
        assert settings.make_policy() is not None


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["check"], "QUEUEPOOL_TLS_CERT"),
        (["consumer", "--app", APP], "CONSUMER_METRICS_HOST"),
        (["coordinator"], "COORDINATOR_GRPC_HOST"),
    ],
)
def test_bytes_that_are_no_text_are_named_and_no_traceback(
    tmp_path: Path, words: list[str], name: str
) -> None:
    done = run(tmp_path, *words, QUEUEPOOL_URL="redis://localhost", **{name: "a\udcff"})

    assert f"{name}: this is not UTF-8 text" in done.stdout + done.stderr
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
