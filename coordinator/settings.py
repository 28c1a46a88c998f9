"""Settings of a coordinator, from COORDINATOR_* variables or the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from coordinator.core.reached import is_loopback
from coordinator.policy import DEFAULT_POLICY, Limits, Policy, make_policy, setting_names
from coordinator.policy.help_check import HelpSettings
from queuepool.errors import ConfigurationError
from queuepool.settings.environment import describe, refuse_what_is_no_text

if TYPE_CHECKING:
    from queuepool.rpc.auth import Access

ENV_PREFIX = "COORDINATOR_"
DEFAULT_GRPC_PORT = 50551

_POLICY_FIELDS = (
    "threshold_pwqd", "quiet_pwqd", "low_pwqd", "cycles_above", "step_factor", "step_workers",
    "add_workers", "shrink_factor", "hold_s", "tau_s", "headroom", "workers",
)  # fmt: skip


class CoordinatorSettings(BaseSettings):
    """Read once at start-up, then immutable. Field names end in their unit."""

    # The text of pydantic's own errors would quote tokens.
    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="ignore", allow_inf_nan=False,
        hide_input_in_errors=True,
    )  # fmt: skip

    cycle_s: float = Field(default=1.0, ge=0.05, le=60, description="Time between two decisions.")
    lease_s: float = Field(
        default=5.0, gt=0, le=300, description="Leadership kept without a renewal."
    )
    request_timeout_s: float = Field(
        default=1.0, gt=0, le=30, description="Wait for one answer of a server."
    )
    command_ttl_s: float = Field(
        default=30.0, gt=0, le=3600, description="A command not heard for so long is dropped."
    )
    checkpoint_interval_s: float = Field(
        default=5.0, gt=0, le=60, description="How often worker counts are noted for restarts."
    )
    decisions_kept: int = Field(
        default=10_000, ge=100, le=1_000_000, description="Decisions kept in Redis, about."
    )
    watchdog_s: float = Field(
        default=30.0, gt=0, le=3600, description="Without a turn for so long, the process exits."
    )

    base_workers: int = Field(
        default=8, ge=1, le=512, description="Workers of an idle partition, unless MIN_WORKERS."
    )
    min_workers: int | None = Field(
        default=None, ge=1, le=4096, description="Least workers; the base by default."
    )
    max_workers: int | None = Field(
        default=None, ge=1, le=4096, description="Most workers; 8 times the base by default."
    )
    policy: str = Field(default=DEFAULT_POLICY, description="static, ratio, aimd or pwqd.")
    help_check: bool = Field(
        default=True, description="pwqd: take back a step up that did not raise completions."
    )
    threshold_pwqd: float | None = Field(
        default=None, description="Jobs waiting per worker above which more workers are wanted."
    )
    quiet_pwqd: float | None = Field(
        default=None, description="pwqd: up to it, not all workers are needed."
    )
    low_pwqd: float | None = Field(
        default=None, description="ratio, aimd: below it, workers are taken away."
    )
    cycles_above: int | None = Field(
        default=None, description="pwqd: consecutive cycles that prove a backlog lasts."
    )
    step_factor: float | None = Field(default=None, description="ratio, pwqd: growth of a step.")
    step_workers: int | None = Field(
        default=None, description="pwqd: workers that a step may always add."
    )
    add_workers: int | None = Field(
        default=None, description="aimd: workers added past slow start."
    )
    shrink_factor: float | None = Field(
        default=None, description="aimd: share kept when it shrinks."
    )
    hold_s: float | None = Field(default=None, description="aimd, pwqd: quiet time before a fall.")
    tau_s: float | None = Field(default=None, description="pwqd: time constant of the decay.")
    headroom: float | None = Field(
        default=None, description="pwqd: spare share above what is busy."
    )
    workers: int | None = Field(default=None, description="static: the fixed count.")

    grpc_host: str = Field(default="127.0.0.1", description="Address the gRPC API listens on.")
    grpc_port: int = Field(
        default=DEFAULT_GRPC_PORT, ge=0, le=65535, description="Its port; 0 takes a free one."
    )
    grpc_address: str = Field(
        default="",
        description="HOST:PORT at which others reach the API. Unset: what is bound, with this "
        "machine's name in place of a wildcard such as 0.0.0.0.",
    )
    grpc_insecure: bool = Field(
        default=False,
        description="Listen beyond this machine though anyone may then set worker counts.",
    )
    grpc_token: SecretStr | None = Field(
        default=None, description="Bearer token of operators; more after commas."
    )
    grpc_viewer_token: SecretStr | None = Field(
        default=None, description="Bearer token of those who may only look; more after commas."
    )
    grpc_operators: str | None = Field(
        default=None,
        description="Names in certificates of operators, by commas; the others may only look. "
        "Unset: all are operators.",
    )
    grpc_tls_cert: Path | None = Field(default=None, description="PEM certificate chain.")
    grpc_tls_key: Path | None = Field(default=None, description="PEM key of the certificate.")
    grpc_tls_client_ca: Path | None = Field(
        default=None, description="PEM of the CA that client certificates must come from (mTLS)."
    )
    grpc_reflection: bool = Field(default=False, description="Let tools list the API.")

    metrics_host: str = Field(default="127.0.0.1", description="Address of /metrics and /healthz.")
    metrics_port: int = Field(
        default=0, ge=-1, le=65535, description="Its port; 0: a free one, -1: none."
    )
    log_format: Literal["text", "json"] = Field(default="text", description="text or json.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="DEBUG, INFO, WARNING or ERROR."
    )

    @model_validator(mode="after")
    def _everything_fits_together(self) -> Self:
        found = [*self._lease_problems(), *self._scaling_problems(), *self._tls_problems()]
        if found:
            raise ValueError(*found)
        return self

    def _lease_problems(self) -> list[str]:
        # A turn may wait once for a connection and once for an answer before it renews.
        slow_turns_s = 2 * (self.cycle_s + self.request_timeout_s)
        if self.lease_s > slow_turns_s:
            return []
        return [
            f"COORDINATOR_LEASE_S={self.lease_s:g} must exceed 2 x (COORDINATOR_CYCLE_S + "
            f"COORDINATOR_REQUEST_TIMEOUT_S) = {slow_turns_s:g}, or one slow turn loses the lead"
        ]

    def _scaling_problems(self) -> list[str]:
        found = []
        least, most = self._bounds()
        if least > most:
            found.append(
                f"COORDINATOR_MAX_WORKERS={most} must not be below the least workers, {least} "
                "(COORDINATOR_MIN_WORKERS or COORDINATOR_BASE_WORKERS)"
            )
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
            found.append("COORDINATOR_GRPC_TLS_CLIENT_CA needs a certificate of the server as well")
        for name in ("grpc_tls_cert", "grpc_tls_key", "grpc_tls_client_ca"):
            path = getattr(self, name)
            # Not path.is_file(): it raises for a name that no file can have.
            if path is not None and not os.path.isfile(path):  # noqa: PTH113
                found.append(f"{ENV_PREFIX}{name.upper()}: there is no file {path}")
        return [*found, *self._token_problems(), *self._open_problems()]

    def _open_problems(self) -> list[str]:
        if self.grpc_insecure or not self.grpc_is_open() or is_loopback(self.grpc_host):
            return []
        return [
            f"COORDINATOR_GRPC_HOST={self.grpc_host} is reached from other machines, and without a "
            "token whoever reaches it may set worker counts: set COORDINATOR_GRPC_TOKEN (with "
            "COORDINATOR_GRPC_TLS_CERT and _KEY), or COORDINATOR_GRPC_TLS_CLIENT_CA for client "
            "certificates; or COORDINATOR_GRPC_INSECURE=true where the network keeps others out"
        ]

    def _token_problems(self) -> list[str]:
        from queuepool.rpc.client import bearer

        found = []
        for name in ("grpc_token", "grpc_viewer_token"):
            tokens, variable = self._tokens(name), f"{ENV_PREFIX}{name.upper()}"
            if getattr(self, name) is not None and not tokens:
                found.append(f"{variable} is empty: give a token, or leave it out")
            try:
                for token in tokens:
                    bearer(token)
            except ConfigurationError as error:
                found.append(f"{variable}: {error}")
        if {*self._tokens("grpc_token")} & {*self._tokens("grpc_viewer_token")}:
            found.append("COORDINATOR_GRPC_TOKEN and COORDINATOR_GRPC_VIEWER_TOKEN share a token")
        if self.grpc_operators is not None and not self._operators():
            found.append("COORDINATOR_GRPC_OPERATORS is empty: give names, or leave it out")
        if self.grpc_operators is not None and self.grpc_tls_client_ca is None:
            found.append("COORDINATOR_GRPC_OPERATORS needs COORDINATOR_GRPC_TLS_CLIENT_CA")
        return found

    def _tokens(self, name: str) -> tuple[str, ...]:
        secret: SecretStr | None = getattr(self, name)
        return _listed(secret.get_secret_value() if secret is not None else "")

    def _operators(self) -> tuple[str, ...] | None:
        return None if self.grpc_operators is None else _listed(self.grpc_operators)

    def access(self) -> Access:
        """Return who may call, and what."""
        from queuepool.rpc.auth import Access

        tokens, viewers = self._tokens("grpc_token"), self._tokens("grpc_viewer_token")
        return Access(tokens, viewers, self._operators())

    def grpc_is_open(self) -> bool:
        """Return whether whoever reaches the API may call it."""
        guards = (self.grpc_token, self.grpc_viewer_token, self.grpc_tls_client_ca)
        return all(guard is None for guard in guards)

    def _bounds(self) -> tuple[int, int]:
        least = self.base_workers if self.min_workers is None else self.min_workers
        return least, 8 * self.base_workers if self.max_workers is None else self.max_workers

    def limits(self) -> Limits:
        """Return the bounds of every partition's worker count."""
        least, most = self._bounds()
        return Limits(min_workers=least, max_workers=most)

    def make_policy(self) -> Policy:
        """Return the policy with the thresholds that it knows. Raises ValueError."""
        known = setting_names(self.policy)
        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in _POLICY_FIELDS
            if name in known and getattr(self, name) is not None
        }
        if "cycle_s" in known:
            given["cycle_s"] = self.cycle_s
        if "help_check" in known and not self.help_check:
            given["help_check"] = HelpSettings(enabled=False)
        return make_policy(self.policy, **given)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


def load(overrides: Mapping[str, Any]) -> CoordinatorSettings:
    """Read settings, what is given here first. Raises ConfigurationError with every problem."""
    refuse_what_is_no_text(ENV_PREFIX, overrides)
    try:
        return CoordinatorSettings(**overrides)
    except ValidationError as error:
        found = describe(error, ENV_PREFIX) + _further(error, overrides)
        raise ConfigurationError(*found) from error


def _further(error: ValidationError, overrides: Mapping[str, Any]) -> list[str]:
    # Rules over several fields run only once each field is good by itself: assume the defaults
    # for the bad ones, so that one attempt shows every problem.
    bad = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    defaults = {name: CoordinatorSettings.model_fields[name].default for name in bad}
    if not defaults:
        return []
    try:
        CoordinatorSettings(**{**overrides, **defaults})
    except ValidationError as further:
        return describe(further, ENV_PREFIX)
    return []
