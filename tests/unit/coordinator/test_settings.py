from pathlib import Path
from typing import Any

import pytest

from coordinator.core.reached import advertised
from coordinator.policy import Limits
from coordinator.settings import CoordinatorSettings, load
from queuepool.errors import ConfigurationError


def test_the_defaults_work_and_grow_to_eight_times_the_base() -> None:
    settings = load({})

    assert settings.limits() == Limits(min_workers=8, max_workers=64)
    assert settings.make_policy().name == "sized"


def test_the_bounds_follow_the_base_unless_they_are_given() -> None:
    assert load({"base_workers": 4}).limits() == Limits(min_workers=4, max_workers=32)
    given = load({"base_workers": 4, "min_workers": 1, "max_workers": 10})
    assert given.limits() == Limits(min_workers=1, max_workers=10)


@pytest.mark.parametrize("policy", ["static", "ratio", "aimd", "pwqd"])
def test_thresholds_reach_the_policies_that_know_them(policy: str) -> None:
    settings = load({"policy": policy, "threshold_pwqd": 7.5, "cycle_s": 0.5, "workers": 3})

    tuned: Any = getattr(settings.make_policy(), "settings", None)

    if policy == "static":
        assert tuned.workers == 3
    else:
        assert tuned.threshold_pwqd == 7.5


def test_variables_are_read_and_flags_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDINATOR_BASE_WORKERS", "2")
    monkeypatch.setenv("COORDINATOR_CYCLE_S", "0.5")

    settings = load({"cycle_s": "0.25"})

    assert (settings.base_workers, settings.cycle_s) == (2, 0.25)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(
            {
                "base_workers": "many",
                "lease_s": 1.0,
                "policy": "magic",
                "max_workers": 2,
                "grpc_tls_cert": "/nowhere/cert.pem",
                "grpc_token": "two words",
            }
        )

    message = str(caught.value)
    for part in (
        "COORDINATOR_BASE_WORKERS: ",
        "COORDINATOR_LEASE_S=1 must exceed",
        "there is no scaling policy named 'magic'",
        "COORDINATOR_MAX_WORKERS=2",
        "COORDINATOR_GRPC_TLS_KEY",
        "there is no file /nowhere/cert.pem",
        "COORDINATOR_GRPC_TOKEN: ",
    ):
        assert part in message
    assert "two words" not in message  # a token is a secret even when it is wrong


@pytest.mark.parametrize("pools", ["cpu", "cpu=0", "cpu=4,cpu=8", "cpu=8..4", "cpu=fibers:2"])
def test_pools_that_cannot_be_read_are_refused_at_the_start(pools: str) -> None:
    with pytest.raises(ConfigurationError, match="COORDINATOR_POOLS: "):
        load({"pools": pools})


def test_a_client_authority_needs_a_certificate(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text("")

    with pytest.raises(ConfigurationError, match="TLS_CLIENT_CA also needs a server certificate"):
        load({"grpc_tls_client_ca": authority})


def test_the_token_is_not_shown() -> None:
    settings = load({"grpc_token": "s3cret-t0ken"})

    assert "s3cret-t0ken" not in repr(settings)


def test_every_setting_says_what_it_is() -> None:
    assert all(f.description for f in CoordinatorSettings.model_fields.values())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "queuepool.example", ""])
def test_an_api_that_others_reach_needs_a_guard_or_leave(host: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load({"grpc_host": host})

    message = str(caught.value)
    assert len(message.splitlines()) == 1
    for part in (
        f"COORDINATOR_GRPC_HOST={host} ",
        "GRPC_TOKEN",
        "TLS_CLIENT_CA",
        "GRPC_INSECURE=true",
    ):
        assert part in message
    assert load({"grpc_host": host, "grpc_insecure": True}).grpc_is_open()
    assert not load({"grpc_host": host, "grpc_token": "secret"}).grpc_is_open()
    assert not load({"grpc_host": host, "grpc_viewer_token": "secret"}).grpc_is_open()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "localhost", "::1", "[::1]"])
def test_an_api_that_only_this_machine_reaches_needs_none(host: str) -> None:
    assert load({"grpc_host": host}).grpc_is_open()


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("0.0.0.0:50551", "box-7:50551"),
        ("[::]:50551", "box-7:50551"),
        (":50551", "box-7:50551"),
        ("127.0.0.1:50551", "127.0.0.1:50551"),
        ("[::1]:50551", "[::1]:50551"),
        ("192.0.2.7:50551", "192.0.2.7:50551"),
        ("queuepool.example:1", "queuepool.example:1"),
    ],
)
def test_others_are_told_an_address_that_leads_here(bound: str, told: str) -> None:
    assert advertised(bound, "box-7") == told
