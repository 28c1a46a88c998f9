"""Settings of every process that uses queuepool, read once from QUEUEPOOL_* variables.

All problems are reported at once, each with its variable. Consumers and coordinators have
additional settings of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode

from queuepool.errors import ConfigurationError
from queuepool.protocol.codec import MAX_PAYLOAD_BYTES
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import build
from queuepool.servers.tls import Tls, tls_problems
from queuepool.servers.wire import check_url
from queuepool.settings import local_cluster as local
from queuepool.settings import strict_json
from queuepool.settings.config import PoolConfig
from queuepool.settings.fields import read_from, setting

S = TypeVar("S", bound=BaseSettings)

_NO_SERVER = (
    "no server is configured: set QUEUEPOOL_URL=redis://HOST:6379/0, or QUEUEPOOL_SERVERS for "
    "several, or run `queuepool up` in this directory, which starts one"
)


_AS_THEY_ARE = {entry.name for entry in fields(PoolConfig)} - {"topology", "keyspace"}


class QueuePoolSettings(BaseSettings):
    """Where the jobs are, and the limits of producers."""

    model_config = read_from("QUEUEPOOL_")

    url: str | None = setting(None, "URL of the Redis or Valkey server.", repr=False)
    servers: Annotated[dict[str, str], NoDecode] = setting(
        dict, "JSON object of server name -> URL, for several servers.", repr=False
    )
    placement: str = setting("", "Which server holds which partitions, such as 0-5=main,6-7=big.")
    partitions: int = setting(
        4, "Number of partitions, with one consumer each.", ge=1, le=4096, validate_default=True
    )
    partitioned: bool = setting(
        True,
        "false: a queue without partitions, or one that is being migrated; see docs/migration.md.",
    )
    stage: str = setting("dev", "Part of every key: separates environments.")
    queue: str = setting("main", "Part of every key: separates applications.")
    max_depth: int = setting(5_000_000, "Maximum jobs per partition, excluding dead ones.", ge=1)
    max_bytes: int = setting(
        2 * 1024**3, "Maximum bytes of jobs per partition, excluding dead ones.", ge=1
    )
    max_payload_bytes: int = setting(
        256 * 1024, "Maximum bytes of a job's JSON.", ge=1, le=MAX_PAYLOAD_BYTES
    )
    timeout_s: float = setting(5.0, "Timeout of one call to a server.", gt=0, le=60)
    retry_for_s: float = setting(
        10.0, "How long a producer retries when a server is down.", ge=0, lt=60
    )
    durability: Literal["fast", "replicated", "fsynced"] = setting(
        "fast", "How durable an enqueue is when it is acknowledged."
    )
    confirm_replicas: int | None = setting(
        None,
        "Replicas that must confirm an enqueue; empty: 1 if replicated, 0 if fsynced.",
        ge=1,
        le=100,
    )
    tenant_separator: str = setting(
        "",
        "Separates the tenant from the rest of a partition key, such as :; empty: keys contain no "
        "tenant.",
    )

    tls_ca: Path | None = setting(None, "PEM of the CA of the servers, for rediss:// URLs.")
    tls_cert: Path | None = setting(None, "PEM client certificate, for servers that require one.")
    tls_key: Path | None = setting(None, "PEM key of the client certificate.")
    tls_key_password: SecretStr | None = setting(
        None, "Password of the key, if it has one.", validate_default=True
    )

    @field_validator("url")
    @classmethod
    def _a_url_we_can_use(cls, value: str | None) -> str | None:
        if value:
            _refusing(check_url, value)
        return value

    @field_validator("servers", mode="before")
    @classmethod
    def _servers_from_json(cls, value: Any) -> Any:
        try:
            return strict_json.loads(value) if isinstance(value, str) else value
        except strict_json.DuplicateKeyError as error:
            raise ValueError(str(error)) from None
        except (ValueError, RecursionError):  # the error's text may quote a password
            example = '{"main": "redis://a:6379/0", "big": "redis://b:6379/0"}'
            raise ValueError(f"this is not JSON; write {example}") from None

    @field_validator("servers")
    @classmethod
    def _one_way_to_name_servers(cls, value: dict[str, str], info: ValidationInfo) -> Any:
        if value and info.data.get("url"):
            raise ValueError("set QUEUEPOOL_URL or QUEUEPOOL_SERVERS, not both")
        for url in value.values():
            _refusing(check_url, url)
        return value

    @field_validator("partitions")
    @classmethod
    def _each_has_a_server(cls, value: int, info: ValidationInfo) -> int:
        known = info.data
        if {"url", "servers", "placement"} <= known.keys():  # else they have their own problems
            servers = {"main": ""} if known["url"] else known["servers"]
            if servers:
                _refusing(build, servers, value, known["placement"])
        return value

    @field_validator("stage")
    @classmethod
    def _a_stage_for_keys(cls, value: str) -> str:
        _refusing(Keyspace, stage=value)
        return value

    @field_validator("queue")
    @classmethod
    def _a_queue_for_keys(cls, value: str) -> str:
        _refusing(Keyspace, queue=value)
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
            topology=build(servers, self.partitions, self.placement, partitioned=self.partitioned),
            keyspace=Keyspace(self.stage, self.queue),
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
        )


def _tls(ca: Path | None, cert: Path | None, key: Path | None, secret: SecretStr | None) -> Tls:
    return Tls(ca, cert, key, None if secret is None else secret.get_secret_value())


def _refusing(check: Callable[..., object], *args: Any, **named: Any) -> None:
    try:
        check(*args, **named)
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


def load(settings: type[S], overrides: Mapping[str, Any] | None = None) -> S:
    """Read settings: overrides take precedence over variables.

    A variable may have a setting's former name (`old_names` of the settings).
    Raises ConfigurationError with every problem and its variable.
    """
    prefix = settings.model_config.get("env_prefix", "")
    given = dict(overrides or {})
    refuse_what_is_no_text(prefix, given)
    given = _by_old_names(settings, prefix) | given
    try:
        return settings(**given)
    except ValidationError as error:
        found = _described(error, prefix) + _further(settings, given, error)
        raise ConfigurationError(*found) from error
    except Exception as error:  # pydantic-settings: a variable that is not JSON where it must be
        raise ConfigurationError(f"{error}; write dictionaries as JSON") from error


def refuse_what_is_no_text(prefix: str, overrides: Mapping[str, Any] | None = None) -> None:
    """Raise ConfigurationError for variables of this prefix, or overrides, that are not UTF-8.

    Python keeps their bytes as characters that cannot be printed: later error messages would fail.
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


def _by_old_names(settings: type[BaseSettings], prefix: str) -> dict[str, str]:
    variables = {name.upper(): value for name, value in os.environ.items()}
    old_names: Mapping[str, str] = getattr(settings, "old_names", {})
    return {
        name: variables[old]
        for name, old in ((n, f"{prefix}{o.upper()}") for n, o in old_names.items())
        if old in variables and f"{prefix}{name.upper()}" not in variables
    }


def _further(
    settings: type[BaseSettings], given: Mapping[str, Any], error: ValidationError
) -> list[str]:
    # Rules over several fields run only once each field alone is valid: assume the defaults for
    # invalid ones, so that one attempt shows every problem.
    bad = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    shape = settings.model_fields
    defaults = {name: shape[name].get_default(call_default_factory=True) for name in bad}
    try:
        settings(**{**given, **defaults})
    except ValidationError as second:
        of_several = [e for e in second.errors(include_input=False) if not e["loc"]]
        return [text for e in of_several if bad for text in _messages(e)]
    return []


def _described(error: ValidationError, prefix: str) -> list[str]:
    """Return all problems of a failed validation; no values, they may be secret."""
    lines = []
    for problem in error.errors(include_input=False, include_url=False):
        place = "_".join(str(part) for part in problem["loc"]).upper()
        for message in _messages(problem):
            named = not place or message.startswith(prefix)
            lines.append(message if named else f"{prefix}{place}: {message}")
    return lines


def _messages(problem: Any) -> tuple[str, ...]:
    """Return the messages of our own validator, or else pydantic's message."""
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
