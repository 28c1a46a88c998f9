"""What sync and asyncio servers share: packing calls, reading URLs, translating errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import redis
from hiredis import pack_command
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    ClusterDownError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.retry import Retry

from queuepool.errors import (
    ConfigurationError,
    ForeignValueError,
    QueuePoolError,
    ScriptError,
    UnavailableError,
)
from queuepool.models.doctor import Refusal
from queuepool.servers import tls
from queuepool.servers.local_faults import local_error
from queuepool.servers.patience import PatientParser
from queuepool.servers.urls import SETTINGS, check_url, display_name, make_pool
from queuepool.verbs import Argument, Verb
from queuepool.verbs.scripts import script

# What the client raises when a call fails; the cluster's own exception is not a RedisError.
FAILURES = (RedisError, RedisClusterException, OSError)

# Replies that mean "not now" or "not here"; the caller may retry. The client turns most first words
# into classes and strips them from the text; MOVED is an AskError, MASTERDOWN a ClusterDownError.
_MISPLACED = (AskError, ClusterDownError, ReadOnlyError)
_TRANSIENT = (*_MISPLACED, TryAgainError, NoScriptError)
_REFUSING = frozenset((Refusal.UNSAVED, Refusal.ALONE))  # every write, before its first line
_TRANSIENT_WORDS = _REFUSING | {"BUSY", "NOMASTERLINK"}
_LOG_IN = f"Nothing was written by this attempt. Set the user and password in {SETTINGS}."
# Not that nothing was written: an earlier attempt of the same call may have been
_REFUSED = (
    "The server refuses every write now; `queuepool doctor` says why. Repeating the call with the "
    "same ids is safe."
)
# What a script gets for a moving slot, and a confirmation on a demoted primary: the server has no
# error code for them.
_MOVING = ("non local key", "the cluster is down", "cannot be used with replica", "UNBLOCKED")
# An older server's error for the first line of a script, which names its flags.
_TOO_OLD = ("unexpected symbol near '#'",)
# The error of a script without permission, in Valkey and in Redis.
_FORBIDDEN = ("ACL failure in script", "The user executing the script can't")
# Its stub only accepts tuples of one element.
_pack: Callable[[tuple[Any, ...]], bytes] = pack_command
_REMEDIES = {
    "no permissions": "grant the ACL user the permissions of its role: `queuepool acl` prints "
    "the rules, docs/security.md explains them",
    "cluster support disabled": "it is not a cluster: its URL starts with redis://",
    "WRONGTYPE": "another program writes to queuepool's keys: use a separate stage or queue. "
    "The owner of the partition, or `queuepool audit --repair`, deletes the "
    "values of the wrong type",
}


def pack(key: bytes, verb: Verb[Any]) -> bytes:
    """Return one call in wire format."""
    if not verb.script:
        return pack_words(verb.args)
    words = _without_ints(verb.args)
    return _pack((b"EVALSHA", script(verb.script).sha, b"1", key, *words))


def pack_load(verb: Verb[Any]) -> bytes:
    """Return the command that loads the verb's script."""
    return _pack((b"SCRIPT", b"LOAD", script(verb.script).code))


def pack_words(words: Sequence[Argument]) -> bytes:
    """Return any command in wire format."""
    return _pack(tuple(_without_ints(words)))


def _without_ints(words: Sequence[Argument]) -> list[Argument]:
    # Writing out an int lets signals in, and hiredis crashes if a handler raises there, as that of
    # Ctrl-C does.
    return [str(word) if type(word) is int else word for word in words]


def is_unknown_script(reply: Any) -> bool:
    """Return whether a server lost its scripts: after a restart, failover or SCRIPT FLUSH."""
    return isinstance(reply, NoScriptError)


def is_misplaced(reply: Any) -> bool:
    """Return whether the reply means that this server is no longer the right one."""
    if isinstance(reply, _MISPLACED):
        return True
    return isinstance(reply, ResponseError) and any(w in str(reply) for w in _MOVING)


def translate(name: str, error: Exception) -> QueuePoolError:
    """Return the library's error for one of the client's; the only place that translates them."""
    text = str(error)
    reason = text[:500].rstrip(".")
    word = text.split(" ", 1)[0].rstrip(":")
    if isinstance(error, OutOfMemoryError):
        return UnavailableError(
            f"{name}: out of memory (maxmemory reached); nothing was written by this attempt. "
            "Retry with the same ids when workers have made room; raise maxmemory if it persists."
        )
    transient = isinstance(error, _TRANSIENT) or word in _TRANSIENT_WORDS or is_misplaced(error)
    if any(words in text for words in _TOO_OLD):
        return ConfigurationError(
            f"{name} cannot run queuepool's scripts; it is older than Redis 7.0, or emulates an "
            "older version. Nothing was written. Use Redis 7.0 or newer, or Valkey; `queuepool "
            "check` reports what is missing."
        )
    if isinstance(error, ResponseError) and not transient:
        forbidden = isinstance(error, NoPermissionError) or any(w in text for w in _FORBIDDEN)
        refused = "no permissions " if forbidden else ""
        remedy = next(
            (r for w, r in _REMEDIES.items() if w in refused + text), "see the server's log"
        )
        kind = ForeignValueError if "WRONGTYPE" in text else ScriptError
        return kind(f"{name} refused: {reason}. {remedy[0].upper()}{remedy[1:]}.")
    if isinstance(error, AuthenticationError):
        return UnavailableError(f"{name} {UnavailableError.REJECTED}: {reason}. {_LOG_IN}")
    if isinstance(error, FAILURES):
        ours = local_error(name, error)
        if ours is not None:
            return ours
        hint = tls.remedy(error)
        return UnavailableError(
            f"{name}: {type(error).__name__}: {reason or 'no answer'}. "
            f"{hint and f'{hint[0].upper()}{hint[1:]}. '}"
            f"{_REFUSED if _refuses_writes(error) else UnavailableError.UNCERTAIN}"
        )
    raise error


def _refuses_writes(error: Exception) -> bool:
    return isinstance(error, ReadOnlyError) or str(error).split(" ", 1)[0] in _REFUSING


def client_options(timeout_s: float) -> dict[str, Any]:
    """Return the options of every connection: no retries by the client, bounded waits, RESP2.

    The parser is for threads.
    """
    return {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "socket_keepalive": True,
        "health_check_interval": 0,
        "protocol": 2,
        "decode_responses": False,
        "parser_class": PatientParser,
    }


def repetition(
    calls: Sequence[tuple[bytes, Verb[Any]]], replies: Sequence[Any]
) -> tuple[list[int], list[bytes], list[bytes]]:
    """Return the calls that failed because the server lacks their scripts, to be sent again.

    (places of the calls, commands that load the scripts, the calls). A server command that followed
    such a call is included, since it may refer to what the call wrote.
    """
    missing = [i for i, reply in enumerate(replies) if is_unknown_script(reply)]
    if not missing:
        return [], [], []
    behind = [i for i in range(missing[0], len(calls)) if not calls[i][1].script]
    scripts = {calls[i][1].script: calls[i][1] for i in missing}
    places = sorted({*missing, *behind})
    return places, [pack_load(v) for v in scripts.values()], [pack(*calls[i]) for i in places]


def repeated(loads: Sequence[bytes], replies: Sequence[Any]) -> Sequence[Any]:
    """Return the replies to the calls that were sent after `loads`; see `repetition`.

    If a script could not be loaded, that refusal replaces the server's "no such script" in the
    replies to its calls, which would look temporary.
    """
    again = replies[len(loads) :]
    refusal = next((r for r in replies[: len(loads)] if isinstance(r, ResponseError)), None)
    if refusal is None:
        return again
    return [refusal if is_unknown_script(reply) else reply for reply in again]


__all__ = [
    "FAILURES", "check_url", "client_options", "display_name", "is_misplaced", "is_unknown_script",
    "make_pool", "pack", "pack_load", "pack_words", "redis", "repeated", "repetition",
    "translate",
]  # fmt: skip
