"""Building blocks with which every process declares its settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict


def setting(default: Any, description: str, **bounds: Any) -> Any:
    """Return a settings field. description: one sentence, shown in the docs' table.

    bounds: ge, gt, le, lt and other arguments of pydantic's Field.
    """
    if callable(default):
        return Field(default_factory=default, description=description, **bounds)
    return Field(default=default, description=description, **bounds)


def read_from(prefix: str) -> SettingsConfigDict:
    """Return the configuration of settings that are read from variables with this prefix.

    Inputs are hidden in errors, since pydantic would quote URLs and tokens.
    """
    return SettingsConfigDict(
        env_prefix=prefix, frozen=True, extra="ignore", allow_inf_nan=False,
        hide_input_in_errors=True,
    )  # fmt: skip


MetricsHost = Annotated[str, Field(description="Address of /metrics and /healthz.")]
MetricsPort = Annotated[
    int,
    Field(ge=-1, le=65535, description="Port of /metrics and /healthz; 0: a free one, -1: none."),
]
LogFormat = Annotated[Literal["text", "json"], Field(description="Format of log lines.")]
LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR"], Field(description="Minimum level that is logged.")
]
