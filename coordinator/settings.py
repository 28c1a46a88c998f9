"""Settings of a coordinator, from COORDINATOR_* variables or the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import SecretStr, create_model, field_validator, model_validator
from pydantic_settings import BaseSettings

from coordinator.core.reached import is_loopback
from coordinator.policy import (
    DEFAULT_POLICY,
    POLICIES,
    Limits,
    Policy,
    make_policy,
    policy_settings,
    setting_names,
)
from coordinator.policy.gain_check import GainCheckSettings
from queuepool.errors import ConfigurationError
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.pools import PoolPlan, parse_pools
from queuepool.settings import environment, fields
from queuepool.settings.fields import read_from, setting

if TYPE_CHECKING:
    from queuepool.rpc.auth import Access

ENV_PREFIX = "COORDINATOR_"
DEFAULT_GRPC_PORT = 50551

_POLICY_SETTINGS = policy_settings()

if TYPE_CHECKING:
    _PolicyNumbers = BaseSettings
else:
    _PolicyNumbers = create_model(
        "_PolicyNumbers",
        __base__=BaseSettings,
        **{
            name: (one.kind | None, setting(None, f"{', '.join(one.policies)}: {one.meaning}"))
            for name, one in _POLICY_SETTINGS.items()
        },
    )


class CoordinatorSettings(_PolicyNumbers):
    """Read once at start-up, then immutable. Field names end in their unit."""

    model_config = read_from(ENV_PREFIX)
    old_names: ClassVar[Mapping[str, str]] = {"gain_check": "help_check"}  # understood until 1.0

    cycle_s: float = setting(1.0, "Interval between decisions.", ge=0.05, le=60)
    lease_s: float = setting(5.0, "How long leadership lasts without a renewal.", gt=0, le=300)
    request_timeout_s: float = setting(1.0, "Timeout of one call to a server.", gt=0, le=30)
    command_ttl_s: float = setting(30.0, "A command older than this is dropped.", gt=0, le=3600)
    checkpoint_interval_s: float = setting(
        5.0, "How often worker counts are checkpointed for restarts.", gt=0, le=60
    )
    decisions_kept: int = setting(
        200_000,
        "Approximate number of decisions kept in Redis, divided among partitions.",
        ge=100,
        le=1_000_000,
    )
    watchdog_s: float = setting(
        30.0, "Without a completed pass for this long, the process exits.", gt=0, le=3600
    )

    move_share: int = setting(
        80, "Percentage of time that moves of slots may spend on calls to servers.", ge=1, le=100
    )
    auto_moves: int = setting(
        0,
        "How often in an hour the leader may move slots off a hot partition by itself; 0: it only "
        "advises.",
        ge=0,
        le=6,
    )

    base_workers: int = setting(
        8, "Workers of an idle partition, unless COORDINATOR_MIN_WORKERS is set.", ge=1, le=512
    )
    min_workers: int | None = setting(None, "Minimum workers; the base by default.", ge=1, le=4096)
    max_workers: int | None = setting(
        None, "Maximum workers; 8 times the base by default.", ge=1, le=4096
    )
    pools: str = setting(
        "",
        "Limits of each worker pool, in the form of CONSUMER_POOLS: `default=8..64,video=1..2`. "
        "Unlisted pools have the limits above.",
    )
    policy: str = setting(DEFAULT_POLICY, f"One of {', '.join(POLICIES)}.")
    gain_check: bool = setting(True, "pwqd, sized: undo a step up that did not raise completions.")

    grpc_host: str = setting("127.0.0.1", "Address the gRPC API listens on.")
    grpc_port: int = setting(
        DEFAULT_GRPC_PORT, "Port of the gRPC API; 0: a free one.", ge=0, le=65535
    )
    grpc_address: str = setting(
        "",
        "Advertised HOST:PORT of the API. Unset: the bound address, with this machine's name "
        "instead of a wildcard such as 0.0.0.0.",
    )
    grpc_insecure: bool = setting(
        False,
        "Listen on other addresses without authentication, so that anyone can set worker counts.",
    )
    grpc_token: SecretStr | None = setting(None, "Bearer tokens of operators, separated by commas.")
    grpc_viewer_token: SecretStr | None = setting(
        None, "Bearer tokens of read-only viewers, separated by commas."
    )
    grpc_operators: str | None = setting(
        None,
        "Certificate names of operators, separated by commas; others are viewers. Unset: all "
        "are operators.",
    )
    grpc_tls_cert: Path | None = setting(None, "PEM certificate chain.")
    grpc_tls_key: Path | None = setting(None, "PEM key of the certificate.")
    grpc_tls_client_ca: Path | None = setting(
        None, "PEM of the CA that must have issued client certificates (mTLS)."
    )
    grpc_reflection: bool = setting(False, "Enable gRPC reflection.")
    keda: bool = setting(False, "Serve the wanted number of consumers to KEDA over gRPC.")

    metrics_host: fields.MetricsHost = "127.0.0.1"
    metrics_port: fields.MetricsPort = 0
    metrics_partitions: int = setting(
        128,
        "With more partitions, those of other pools included, /metrics shows their sums instead "
        "of each.",
        ge=0,
        le=100_000,
    )
    log_format: fields.LogFormat = "text"
    log_level: fields.LogLevel = "INFO"

    @field_validator("pools")
    @classmethod
    def _pools_that_can_be_read(cls, value: str) -> str:
        if value:
            parse_pools(value)
        return value

    @model_validator(mode="after")
    def _everything_fits_together(self) -> Self:
        found = [*self._lease_problems(), *self._scaling_problems(), *self._tls_problems()]
        if found:
            raise ValueError(*found)
        return self

    def _lease_problems(self) -> list[str]:
        # A turn may wait once for a connection and once for a reply before it renews.
        slow_turns_s = 2 * (self.cycle_s + self.request_timeout_s)
        if self.lease_s > slow_turns_s:
            return []
        return [
            f"COORDINATOR_LEASE_S={self.lease_s:g} must exceed 2 x (COORDINATOR_CYCLE_S + "
            f"COORDINATOR_REQUEST_TIMEOUT_S) = {slow_turns_s:g}, or one slow pass loses "
            "leadership"
        ]

    def _scaling_problems(self) -> list[str]:
        found = []
        least, most = self._bounds()
        if least > most:
            found.append(
                f"COORDINATOR_MAX_WORKERS={most} must not be below the minimum, {least} "
                "(COORDINATOR_MIN_WORKERS or COORDINATOR_BASE_WORKERS)"
            )
        sizes = {"base_workers", "min_workers", "max_workers"} & self.model_fields_set
        try:
            if sizes and DEFAULT_POOL in self._plans():
                found.append(
                    "COORDINATOR_POOLS names `default`, so drop COORDINATOR_BASE_WORKERS, "
                    "_MIN_WORKERS and _MAX_WORKERS: default=8..64 means the same as 8 and 64"
                )
        except ValueError as error:
            found.append(f"COORDINATOR_POOLS: {error}")
        try:
            self.make_policy()
        except ValueError as error:
            found.append(f"COORDINATOR_POLICY={self.policy}: {error}")
        return found

    def _tls_problems(self) -> list[str]:
        found = []
        if (self.grpc_tls_cert is None) != (self.grpc_tls_key is None):
            found.append("set COORDINATOR_GRPC_TLS_CERT and COORDINATOR_GRPC_TLS_KEY, or neither")
        if self.grpc_tls_client_ca is not None and self.grpc_tls_cert is None:
            found.append(
                "COORDINATOR_GRPC_TLS_CLIENT_CA also needs a server certificate "
                "(COORDINATOR_GRPC_TLS_CERT and _KEY)"
            )
        for name in ("grpc_tls_cert", "grpc_tls_key", "grpc_tls_client_ca"):
            path = getattr(self, name)
            # Not path.is_file(): it raises for an impossible file name.
            if path is not None and not os.path.isfile(path):  # noqa: PTH113
                found.append(f"{ENV_PREFIX}{name.upper()}: there is no file {path}")
        return [*found, *self._token_problems(), *self._open_problems()]

    def _open_problems(self) -> list[str]:
        if self.grpc_insecure or not self.grpc_is_open() or is_loopback(self.grpc_host):
            return []
        return [
            f"COORDINATOR_GRPC_HOST={self.grpc_host} is reachable from other machines, and "
            "without a token anyone who reaches it can set worker counts: set "
            "COORDINATOR_GRPC_TOKEN (with COORDINATOR_GRPC_TLS_CERT and _KEY), or "
            "COORDINATOR_GRPC_TLS_CLIENT_CA for client certificates; or "
            "COORDINATOR_GRPC_INSECURE=true if the network restricts access"
        ]

    def _token_problems(self) -> list[str]:
        from queuepool.rpc.client import bearer

        found = []
        for name in ("grpc_token", "grpc_viewer_token"):
            tokens, variable = self._tokens(name), f"{ENV_PREFIX}{name.upper()}"
            if getattr(self, name) is not None and not tokens:
                found.append(f"{variable} is empty: set a token, or unset it")
            try:
                for token in tokens:
                    bearer(token)
            except ConfigurationError as error:
                found.append(f"{variable}: {error}")
        if {*self._tokens("grpc_token")} & {*self._tokens("grpc_viewer_token")}:
            found.append(
                "COORDINATOR_GRPC_TOKEN and COORDINATOR_GRPC_VIEWER_TOKEN have a token "
                "in common; use different ones"
            )
        if self.grpc_operators is not None and not self._operators():
            found.append("COORDINATOR_GRPC_OPERATORS is empty: set names, or unset it")
        if self.grpc_operators is not None and self.grpc_tls_client_ca is None:
            found.append("COORDINATOR_GRPC_OPERATORS needs COORDINATOR_GRPC_TLS_CLIENT_CA")
        return found

    def _tokens(self, name: str) -> tuple[str, ...]:
        secret: SecretStr | None = getattr(self, name)
        return _listed(secret.get_secret_value() if secret is not None else "")

    def _operators(self) -> tuple[str, ...] | None:
        return None if self.grpc_operators is None else _listed(self.grpc_operators)

    def access(self) -> Access:
        """Return the callers' permissions."""
        from queuepool.rpc.auth import Access

        tokens, viewers = self._tokens("grpc_token"), self._tokens("grpc_viewer_token")
        return Access(tokens, viewers, self._operators())

    def grpc_is_open(self) -> bool:
        """Return whether anyone who reaches the API may call it."""
        guards = (self.grpc_token, self.grpc_viewer_token, self.grpc_tls_client_ca)
        return all(guard is None for guard in guards)

    def _bounds(self) -> tuple[int, int]:
        least = self.base_workers if self.min_workers is None else self.min_workers
        return least, 8 * self.base_workers if self.max_workers is None else self.max_workers

    def _plans(self) -> dict[str, PoolPlan]:
        return {plan.name: plan for plan in parse_pools(self.pools)} if self.pools else {}

    def limits(self, pool: str = DEFAULT_POOL) -> Limits:
        """Return the bounds of the worker count of every partition's pool."""
        plan, (least, most) = self._plans().get(pool), self._bounds()
        if plan is not None:
            least, most = plan.least, plan.most
        return Limits(min_workers=least, max_workers=most)

    def make_policy(
        self, name: str | None = None, overrides: Mapping[str, Any] = MappingProxyType({})
    ) -> Policy[Any, Any]:
        """Return the policy with its settings. Raises ValueError.

        name: of another policy. overrides: settings that take precedence, if it has them.
        """
        name = name or self.policy
        known = setting_names(name)
        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in _POLICY_SETTINGS
            if name in known and getattr(self, name) is not None
        }
        if "cycle_s" in known:
            given["cycle_s"] = self.cycle_s
        if "gain_check" in known and not self.gain_check:
            given["gain_check"] = GainCheckSettings(enabled=False)
        given |= {key: value for key, value in overrides.items() if key in known}
        return make_policy(name, **given)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


def load(overrides: Mapping[str, Any]) -> CoordinatorSettings:
    """Read settings; overrides take precedence. Raises ConfigurationError with every problem."""
    return environment.load(CoordinatorSettings, overrides)
