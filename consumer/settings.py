"""Settings of a consumer process, read once from CONSUMER_* variables; flags come first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import field_validator, model_validator
from pydantic_settings import BaseSettings

from consumer.core.commands import MAX_WORKERS
from queuepool.errors.escaping import shown
from queuepool.models.places import DEFAULT_POOL
from queuepool.models.pools import Kind, PoolPlan, parse_pools
from queuepool.settings import fields
from queuepool.settings.fields import read_from, setting


class ConsumerSettings(BaseSettings):
    """How one consumer owns its partition and runs jobs. Names end in their unit."""

    model_config = read_from("CONSUMER_")
    old_names: ClassVar[Mapping[str, str]] = {"prefetch": "lookahead"}  # understood until 1.0

    app: str = setting("", "Modules that define tasks, separated by commas.")
    partition: str = setting("auto", "A partition number, or auto: any free one.")
    roaming: bool = setting(
        True,
        "With CONSUMER_PARTITION=auto: share the time with partitions that have work and no owner.",
    )
    processes: int = setting(
        1, "Consumers that this process starts and supervises, each with its own partition.",
        ge=1, le=64,
    )  # fmt: skip
    workers: int = setting(8, "Base number of workers.", ge=1, le=MAX_WORKERS)
    max_workers: int = setting(
        0, "Maximum workers a command may set; 0: 8 x CONSUMER_WORKERS.", ge=0, le=MAX_WORKERS
    )
    pools: str = setting(
        "",
        "Kind and size of each worker pool, instead of the two above: `default=8..64` (threads), "
        "`default=8..64,io=async:200..2000,cpu=process:2..4`.",
    )
    process_max_jobs: int = setting(
        0, "Jobs after which a child of a process pool is replaced; 0: never.", ge=0, le=10**9
    )
    process_max_rss_mb: int = setting(
        0,
        "Memory in MiB at which a child of a process pool is killed; it is replaced after a job at "
        "3/4 of it. 0: no limit. Linux only.",
        ge=0,
        le=2**20,
    )
    lease_s: float = setting(10.0, "How long ownership lasts without a renewal.", ge=1, le=300)
    drain_s: float = setting(
        30.0, "How long running jobs may take to finish after SIGTERM.", ge=0, le=86400
    )
    poll_s: float = setting(1.0, "Longest wait without checking for work.", gt=0, le=10)
    prefetch: int = setting(
        400,
        "Maximum prefetched jobs; long jobs are never prefetched. Formerly CONSUMER_LOOKAHEAD.",
        ge=0,
        le=400,
    )
    tiers: Literal["weighted", "strict"] = setting("weighted", "How priority tiers share workers.")
    weights: str = setting("6,3,2,1", "Shares of critical, high, default, low.")
    promote_after_s: float = setting(
        60.0,
        "A lane that has waited this long gets a turn one tier up; 0: never.",
        ge=0,
        le=30 * 86400,
    )
    order: Literal["fair", "shortest"] = setting(
        "fair",
        "Order of groups in a tier: take turns, or the group with the fewest jobs left first.",
    )
    shortest_wait_s: float = setting(
        30.0,
        "With CONSUMER_ORDER=shortest: a group that has waited this long for a turn goes first.",
        ge=0.001,
        le=86400,
    )
    max_crashes: int = setting(
        3, "Consumer crashes after which a job is buried; 1: every running job.", ge=1, le=100
    )
    dead_keep_jobs: int = setting(100_000, "Maximum number of dead jobs kept.", ge=1, le=10**9)
    dead_keep_bytes: int = setting(64 * 1024**2, "Maximum bytes of dead jobs kept.", ge=1, le=2**40)
    dead_keep_s: float = setting(14 * 86400, "How long a dead job is kept.", gt=0, le=3660 * 86400)
    history_keep_bytes: int = setting(
        0, "Bytes of history kept per partition; 0: none.", ge=0, le=2**30
    )
    history_rate: int = setting(
        100,
        "Successes per second kept in the history, and failures per second.",
        ge=1,
        le=10_000,
    )
    checkpoint_tau_s: float = setting(
        600.0, "Time constant with which a checkpoint found at startup decays.", gt=0, le=30 * 86400
    )
    stall_s: float = setting(
        30.0,
        "Without a turn for this long, the consumer reports unhealthy and then exits.",
        ge=2,
        le=86400,
    )
    metrics_host: fields.MetricsHost = "127.0.0.1"
    metrics_port: fields.MetricsPort = 0
    log_format: fields.LogFormat = "text"
    log_level: fields.LogLevel = "INFO"

    @field_validator("partition")
    @classmethod
    def _a_number_or_auto(cls, value: str) -> str:
        if value != "auto" and not re.fullmatch("[0-9]{1,4}", value):
            raise ValueError(f"{shown(value)} is neither a partition number nor 'auto'")
        return value

    @field_validator("weights")
    @classmethod
    def _four_weights(cls, value: str) -> str:
        parts = value.split(",")
        if len(parts) != 4 or not all(
            p.strip().isascii() and p.strip().isdecimal() and 1 <= int(p) <= 100 for p in parts
        ):
            raise ValueError(
                f"{shown(value)}: use four whole numbers from 1 to 100, such as 6,3,2,1"
            )
        return value

    @model_validator(mode="after")
    def _several_can_run(self) -> Self:
        if self.processes == 1:
            return self
        if self.partition != "auto":
            raise ValueError(
                f"CONSUMER_PROCESSES={self.processes} cannot be combined with CONSUMER_PARTITION="
                f"{self.partition}: a partition has one owner; use auto"
            )
        last = self.metrics_port + self.processes - 1
        if self.metrics_port > 0 and last > 65535:
            raise ValueError(
                f"CONSUMER_METRICS_PORT={self.metrics_port}: each consumer takes the next port, "
                f"the last one {last}, and there are 65535"
            )
        return self

    @model_validator(mode="after")
    def _maximum_above_base(self) -> Self:
        if self.max_workers and self.max_workers < self.workers:
            raise ValueError(
                f"CONSUMER_MAX_WORKERS={self.max_workers} is below CONSUMER_WORKERS={self.workers}"
            )
        return self

    @model_validator(mode="after")
    def _pools_that_can_be_had(self) -> Self:
        if self.pools and {"workers", "max_workers"} & self.model_fields_set:
            raise ValueError(
                "CONSUMER_POOLS cannot be combined with CONSUMER_WORKERS or CONSUMER_MAX_WORKERS: "
                "drop one of them; default=8..64 means the same as 8 and 64"
            )
        try:
            self.pool_plans  # noqa: B018
        except ValueError as error:
            raise ValueError(f"CONSUMER_POOLS: {error}") from None
        return self

    def of_each_pool(self) -> list[ConsumerSettings]:
        """Return the settings of each pool, for the consumers that run side by side."""
        if len(self.pool_plans) == 1:
            return [self]
        return [self.model_copy(update={"pools": str(plan)}) for plan in self.pool_plans]

    @property
    def pool(self) -> str:
        """Return the name of the pool, of the first one if there are several."""
        return self._plan.name

    @property
    def pool_plans(self) -> tuple[PoolPlan, ...]:
        """Return the pools. Raises ValueError."""
        if self.pools:
            return parse_pools(self.pools)
        most = self.max_workers or min(8 * self.workers, MAX_WORKERS)
        return (PoolPlan(DEFAULT_POOL, Kind.THREADS, self.workers, most),)

    @property
    def least_workers(self) -> int:
        """Return the number of workers of the idle pool."""
        return self._plan.least

    @property
    def fewest_workers(self) -> int:
        """Return the fewest workers that a command may set."""
        return self.least_workers if self.pools else 1

    @property
    def most_workers(self) -> int:
        """Return the most workers that a command may set."""
        return self._plan.most

    @property
    def _plan(self) -> PoolPlan:
        return self.pool_plans[0]

    @property
    def shortest_ms(self) -> int | None:
        """Return after which wait a group's turn is overdue, None in the order `fair`."""
        return int(self.shortest_wait_s * 1000) if self.order == "shortest" else None

    @property
    def tier_weights(self) -> tuple[int, int, int, int]:
        """Return the share of each tier; all 0 for strict order."""
        if self.tiers == "strict":
            return 0, 0, 0, 0
        a, b, c, d = (int(part) for part in self.weights.split(","))
        return a, b, c, d
