"""Settings of a consumer process, read once from CONSUMER_* variables; flags come first."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from consumer.core.commands import MAX_WORKERS
from queuepool.errors import shown


class ConsumerSettings(BaseSettings):
    """How one consumer owns its partition and runs jobs. Names end in their unit."""

    model_config = SettingsConfigDict(
        env_prefix="CONSUMER_", frozen=True, extra="ignore", allow_inf_nan=False
    )

    app: str = Field(default="", description="Modules that define tasks, separated by commas.")
    partition: str = Field(default="auto", description="A number, or auto: take any free one.")
    workers: int = Field(default=8, ge=1, le=MAX_WORKERS, description="The base: workers at rest.")
    max_workers: int = Field(
        default=0,
        ge=0,
        le=MAX_WORKERS,
        description="Most workers a command may set; 0: 8 x workers.",
    )
    lease_s: float = Field(
        default=10.0, ge=1, le=300, description="Ownership kept without renewal."
    )
    drain_s: float = Field(
        default=30.0, ge=0, le=86400, description="After SIGTERM, how long running jobs may finish."
    )
    poll_s: float = Field(
        default=1.0, gt=0, le=10, description="Look for work when nothing woke us."
    )
    lookahead: int = Field(
        default=400,
        ge=0,
        le=400,
        description="Most jobs that wait in memory; 0 when jobs are long.",
    )
    tiers: Literal["weighted", "strict"] = Field(
        default="weighted", description="Share between priority tiers."
    )
    weights: str = Field(default="6,3,2,1", description="Shares of critical, high, default, low.")
    promote_after_s: float = Field(
        default=60.0,
        ge=0,
        le=30 * 86400,
        description="A lane that waited so long has its turn a tier up; 0: never.",
    )
    max_crashes: int = Field(
        default=3,
        ge=1,
        le=100,
        description="Crashes of its consumer that bury a job; 1: all that ran.",
    )
    dead_keep_jobs: int = Field(default=100_000, ge=1, le=10**9, description="Dead jobs kept.")
    dead_keep_bytes: int = Field(
        default=64 * 1024**2, ge=1, le=2**40, description="Bytes of dead jobs kept."
    )
    dead_keep_s: float = Field(
        default=14 * 86400, gt=0, le=3660 * 86400, description="How long a dead job is kept."
    )
    checkpoint_tau_s: float = Field(
        default=600.0,
        gt=0,
        le=30 * 86400,
        description="A worker count found at start fades by 1/e in this time.",
    )
    stall_s: float = Field(
        default=30.0,
        ge=2,
        le=86400,
        description="Without a turn for so long, health fails and then we exit.",
    )
    metrics_host: str = Field(
        default="127.0.0.1", description="Where /metrics and /healthz listen."
    )
    metrics_port: int = Field(default=0, ge=-1, le=65535, description="0: a free port, -1: none.")
    log_format: Literal["text", "json"] = Field(
        default="text", description="Style of the log lines."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Least level that is logged."
    )

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
                f"{shown(value)}: give four whole numbers from 1 to 100, such as 6,3,2,1"
            )
        return value

    @model_validator(mode="after")
    def _maximum_above_base(self) -> Self:
        if self.max_workers and self.max_workers < self.workers:
            raise ValueError(
                f"CONSUMER_MAX_WORKERS={self.max_workers} is below CONSUMER_WORKERS={self.workers}"
            )
        return self

    @property
    def most_workers(self) -> int:
        """Return the most workers that a command may set."""
        return self.max_workers or min(8 * self.workers, MAX_WORKERS)

    @property
    def tier_weights(self) -> tuple[int, int, int, int]:
        """Return the share of each tier; all 0 for strict order."""
        if self.tiers == "strict":
            return 0, 0, 0, 0
        a, b, c, d = (int(part) for part in self.weights.split(","))
        return a, b, c, d
