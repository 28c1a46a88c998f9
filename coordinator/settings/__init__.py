"""Settings of a coordinator, from COORDINATOR_* variables or the command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import create_model, field_validator, model_validator
from pydantic_settings import BaseSettings

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
from coordinator.settings.api import ApiSettings
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.pools import PoolPlan, parse_pools
from queuepool.settings import environment, fields
from queuepool.settings.fields import read_from, setting

ENV_PREFIX = "COORDINATOR_"

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


class CoordinatorSettings(ApiSettings, _PolicyNumbers):
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
        60, "Percentage of time that moves of slots may spend on calls to servers.", ge=1, le=100
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
        found = [*self._lease_problems(), *self._scaling_problems(), *self.api_problems()]
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


def load(overrides: Mapping[str, Any]) -> CoordinatorSettings:
    """Read settings; overrides take precedence. Raises ConfigurationError with every problem."""
    return environment.load(CoordinatorSettings, overrides)
