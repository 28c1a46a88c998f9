"""Settings of every process that uses queuepool, read once from QUEUEPOOL_* variables.

All problems are reported at once, each with its variable. Consumers and coordinators have
settings of their own beside these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from queuepool.errors import ConfigurationError
from queuepool.protocol.codec import MAX_PAYLOAD_BYTES
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.servers.tls import Tls, tls_problems
from queuepool.servers.wire import check_url
from queuepool.settings import local_cluster as local
from queuepool.settings import strict_json
from queuepool.settings.config import PoolConfig

S = TypeVar("S", bound=BaseSettings)

_NO_SERVER = (
    "no server is configured: set QUEUEPOOL_URL=redis://HOST:6379/0, or QUEUEPOOL_SERVERS for "
    "several, or run `queuepool up` in this directory, which starts one"
)


class QueuePoolSettings(BaseSettings):
    """Where the jobs are, and the limits of producers."""

    # The text of pydantic's own errors would quote URLs.
    model_config = SettingsConfigDict(
        env_prefix="QUEUEPOOL_",
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )

    url: str | None = Field(
        default=None, repr=False, description="Redis or Valkey, when there is one."
    )
    servers: Annotated[dict[str, str], NoDecode] = Field(
        default_factory=dict,
        repr=False,
        description="JSON: server name -> URL, when there are several.",
    )
    placement: str = Field(default="", description="Which server holds what: 0-5=main,6-7=big.")
    partitions: int = Field(
        default=4,
        ge=1,
        le=4096,
        validate_default=True,
        description="Logical partitions, one consumer each.",
    )
    stage: str = Field(default="dev", description="Part of every key: separates environments.")
    queue: str = Field(default="main", description="Part of every key: separates applications.")
    max_depth: int = Field(
        default=5_000_000, ge=1, description="Jobs a partition may hold; dead ones do not count."
    )
    max_bytes: int = Field(
        default=2 * 1024**3,
        ge=1,
        description="Bytes of jobs a partition may hold; dead ones do not count.",
    )
    max_payload_bytes: int = Field(
        default=256 * 1024, ge=1, le=MAX_PAYLOAD_BYTES, description="Bytes of one job's JSON."
    )
    timeout_s: float = Field(
        default=5.0, gt=0, le=60, description="Wait for one answer of a server."
    )
    retry_for_s: float = Field(
        default=10.0,
        ge=0,
        lt=60,
        description="How long a producer tries again when a server is away.",
    )
    durability: Literal["fast", "replicated", "fsynced"] = Field(
        default="fast", description="What an acknowledged enqueue has survived."
    )
    confirm_replicas: int | None = Field(
        default=None,
        ge=1,
        le=100,
        description="Replicas that confirm an enqueue; empty: 1 if replicated, none if fsynced.",
    )

    tls_ca: Path | None = Field(
        default=None, description="PEM of the authority of servers, for rediss:// URLs."
    )
    tls_cert: Path | None = Field(
        default=None, description="PEM certificate shown to servers that ask for one."
    )
    tls_key: Path | None = Field(default=None, description="PEM key of that certificate.")
    tls_key_password: SecretStr | None = Field(
        default=None, validate_default=True, description="Password of that key, if it has one."
    )

    @field_validator("url")
    @classmethod
    def _a_url_we_can_use(cls, value: str | None) -> str | None:
        if value:
            _told(check_url, value)
        return value

    @field_validator("servers", mode="before")
    @classmethod
    def _servers_from_json(cls, value: Any) -> Any:
        try:
            return strict_json.loads(value) if isinstance(value, str) else value
        except strict_json.DuplicateKeyError as error:
            raise ValueError(str(error)) from None
        except (ValueError, RecursionError):  # its text may quote a password
            example = '{"main": "redis://a:6379/0", "big": "redis://b:6379/0"}'
            raise ValueError(f"this is not JSON; write {example}") from None

    @field_validator("servers")
    @classmethod
    def _one_way_to_name_servers(cls, value: dict[str, str], info: ValidationInfo) -> Any:
        if value and info.data.get("url"):
            raise ValueError("set QUEUEPOOL_URL or QUEUEPOOL_SERVERS, not both")
        for url in value.values():
            _told(check_url, url)
        return value

    @field_validator("partitions")
    @classmethod
    def _each_has_a_server(cls, value: int, info: ValidationInfo) -> int:
        known = info.data
        if {"url", "servers", "placement"} <= known.keys():  # else they have problems of their own
            servers = {"main": ""} if known["url"] else known["servers"]
            if servers:
                _told(build, servers, value, known["placement"])
        return value

    @field_validator("stage")
    @classmethod
    def _a_stage_for_keys(cls, value: str) -> str:
        _told(Keyspace, stage=value)
        return value

    @field_validator("queue")
    @classmethod
    def _a_queue_for_keys(cls, value: str) -> str:
        _told(Keyspace, queue=value)
        return value

    @field_validator("tls_key_password")
    @classmethod
    def _tls_that_works(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        known = info.data
        if {"url", "servers", "tls_ca", "tls_cert", "tls_key"} <= known.keys():
            servers = {"main": known["url"]} if known["url"] else known["servers"]
            tls = _tls(known["tls_ca"], known["tls_cert"], known["tls_key"], value)
            if found := tls_problems(tls, servers):
                raise ValueError(*found)
        return value

    @property
    def tls(self) -> Tls:
        """Return the files for connections to servers."""
        return _tls(self.tls_ca, self.tls_cert, self.tls_key, self.tls_key_password)

    @property
    def server_urls(self) -> dict[str, str]:
        """Return the URL of each server, with the files for TLS in it."""
        servers = {"main": self.url} if self.url else self.servers
        return {name: self.tls.added_to(url) for name, url in servers.items()}

    def pool_config(self) -> PoolConfig:
        """Return the settings as a config. Raises ConfigurationError."""
        servers = self.server_urls
        if not servers:
            raise ConfigurationError(_NO_SERVER)
        return PoolConfig(
            topology=build(servers, self.partitions, self.placement),
            keyspace=Keyspace(self.stage, self.queue),
            max_depth=self.max_depth,
            max_bytes=self.max_bytes,
            max_payload_bytes=self.max_payload_bytes,
            timeout_s=self.timeout_s,
            retry_for_s=self.retry_for_s,
            durability=self.durability,
            confirm_replicas=self.confirm_replicas,
        )


def _tls(ca: Path | None, cert: Path | None, key: Path | None, secret: SecretStr | None) -> Tls:
    return Tls(ca, cert, key, None if secret is None else secret.get_secret_value())


def _told(check: Callable[..., object], *args: Any, **named: Any) -> None:
    try:
        check(*args, **named)
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


def load(settings: type[S]) -> S:
    """Read settings. Raises ConfigurationError with every problem and its variable."""
    prefix = settings.model_config.get("env_prefix", "")
    refuse_what_is_no_text(prefix)
    try:
        return settings()
    except ValidationError as error:
        found = describe(error, prefix) + _further(settings, error)
        raise ConfigurationError(*found) from error
    except Exception as error:  # pydantic-settings: a variable that is not JSON where it must be
        raise ConfigurationError(f"{error}; dictionaries are written as JSON") from error


def refuse_what_is_no_text(prefix: str, overrides: Mapping[str, Any] | None = None) -> None:
    """Raise ConfigurationError for variables of this prefix, or overrides, that are not UTF-8.

    Python keeps their bytes as characters that cannot be written: each later error would fail.
    """
    given: dict[str, Any] = {n: v for n, v in os.environ.items() if n.startswith(prefix)}
    given |= {f"{prefix}{name.upper()}": value for name, value in (overrides or {}).items()}
    bad = sorted(name for name, value in given.items() if not _is_text(value))
    if bad:
        names = (name.encode("ascii", "backslashreplace").decode() for name in bad)
        raise ConfigurationError(*(f"{name}: this is not UTF-8 text" for name in names))


def _is_text(value: Any) -> bool:
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _further(settings: type[BaseSettings], error: ValidationError) -> list[str]:
    # Rules over several fields run only once each field is good by itself: assume the defaults
    # for the bad ones, so that one attempt shows every problem.
    bad = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    fields = settings.model_fields
    try:
        settings(**{n: fields[n].get_default(call_default_factory=True) for n in bad})
    except ValidationError as second:
        told = [e for e in second.errors(include_input=False) if not e["loc"]]
        return [text for e in told if bad for text in _messages(e)]
    return []


def describe(error: ValidationError, prefix: str) -> list[str]:
    """Return all problems of a failed validation; no values, they may be secret."""
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        place = "_".join(str(part) for part in problem["loc"]).upper()
        for message in _messages(problem):
            named = not place or message.startswith(prefix)
            lines.append(message if named else f"{prefix}{place}: {message}")
    return lines


def _messages(problem: Any) -> tuple[str, ...]:
    """Return what a validator of ours said, which may be several things, or pydantic's message."""
    ours = problem.get("ctx", {}).get("error")
    if isinstance(ours, ValueError) and ours.args:
        return tuple(map(str, ours.args))
    return (problem["msg"].removeprefix("Value error, "),)


def load_pool_config() -> PoolConfig:
    """Return the config from QUEUEPOOL_* variables, else that of the cluster running here."""
    settings = load(QueuePoolSettings)
    if not settings.url and not settings.servers:
        cluster = local.read()
        if cluster is not None:
            settings = settings.model_copy(
                update={
                    "servers": dict(cluster.servers),
                    "placement": cluster.placement,
                    "partitions": cluster.partitions,
                    "stage": cluster.stage,
                    "queue": cluster.queue,
                }
            )
    return settings.pool_config()
