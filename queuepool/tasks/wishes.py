"""What jobs ask for besides being run: a unique key, a time by which to start, limits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec

from queuepool.errors import InvalidInputError
from queuepool.errors.escaping import shown
from queuepool.protocol.codec import MAX_UNIQUE_BYTES
from queuepool.protocol.models import plain_model
from queuepool.tasks.conversion import SIMPLE
from queuepool.tasks.limiting import JobLimits
from queuepool.tasks.options import is_number
from queuepool.tasks.signature import Signature

UniqueKey: TypeAlias = str | bytes
Wish: TypeAlias = tuple[bytes, bytes, int, bytes]
_MAX_S = 366 * 86400
_CONFLICTS = {"skip": b"", "replace": b"r", "debounce": b"d"}
UniqueKeyOf: TypeAlias = Callable[[Mapping[str, Any]], UniqueKey | None]

# One text for equal values, whatever the order of an object's fields.
_encoder = msgspec.json.Encoder(enc_hook=plain_model, order="deterministic")


@dataclass(frozen=True, slots=True)
class KeyOfFields:
    """Derives a job's key from its task and some of its arguments, if given.

    takes: converts them as for the handler, so that those that are the same to it make one key.
    """

    task: str
    fields: tuple[str, ...]
    takes: Signature = field(repr=False, compare=False)

    def __call__(self, payload: Mapping[str, Any]) -> bytes:
        """Return the key; a digest if it would be too long."""
        given = {name: self._text(name, payload[name]) for name in self.fields if name in payload}
        key = _encoder.encode((self.task, given))
        return key if len(key) <= MAX_UNIQUE_BYTES else blake2b(key, digest_size=16).digest()

    def _text(self, name: str, value: Any) -> msgspec.Raw:
        text, wanted = _encoder.encode(value), self.takes.argument(name)
        if wanted is not None and not (type(value) is wanted.annotation and type(value) in SIMPLE):
            with suppress(ValueError, TypeError):  # the check of the payload says what does not fit
                text = _encoder.encode(wanted.make(msgspec.json.decode(text)))
        return msgspec.Raw(text)


def key_of_fields(task: str, fields: Sequence[str] | None, takes: Signature) -> KeyOfFields | None:
    """Return the function that derives the keys of a task's jobs. Raises InvalidInputError."""
    if fields is None:
        return None
    names: tuple[Any, ...] = (fields,) if isinstance(fields, str) else tuple(fields)
    unknown = [name for name in names if not isinstance(name, str) or not takes.takes(name)]
    if unknown or not names:
        what = f"{shown(unknown[0])} is not a parameter" if unknown else "it names no parameter"
        raise InvalidInputError(
            f"task {task!r}: unique={shown(fields)}, but {what}: name the parameters whose values "
            'jobs must not share, such as unique=("account",)'
        )
    return KeyOfFields(task, names, takes)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What jobs ask for besides being run.

    until: when a unique key is free again. conflict: what a waiting job with the key meets. limits:
    None for none. need_key: a call says when its key is free or what a conflict does, so a job
    without a key is a mistake.
    """

    unique: UniqueKey | UniqueKeyOf | None = None
    until: bytes = b"e"
    conflict: bytes = b""
    expires_ms: int = 0
    limits: JobLimits | None = None
    need_key: bool = False

    def of(self, payload: Mapping[str, Any]) -> Wish | None:
        """Return the arguments about a job for the enqueue script; None: nothing.

        Raises InvalidInputError.
        """
        if self.need_key and self.unique is None:
            raise InvalidInputError(
                "unique_until and on_conflict need a unique key: pass unique=..., or declare it "
                "with the task"
            )
        key = key_bytes(self.unique, payload)
        gate = b"" if self.limits is None else self.limits.gate(payload)
        if key is None:
            return (b"", b"", self.expires_ms, gate) if self.expires_ms or gate else None
        return self.until + self.conflict, key, self.expires_ms, gate


def wishes_of(
    unique: UniqueKey | UniqueKeyOf | None,
    unique_until: object,
    on_conflict: object,
    expires_s: object,
    limits: JobLimits | None,
    otherwise: Wishes | None = None,
) -> Wishes | None:
    """Return what these options ask for, None for nothing. Raises InvalidInputError.

    limits: None says nothing, an empty one that there are none. otherwise: what holds where they
    say nothing.
    """
    known = otherwise or Wishes()
    made = Wishes(
        known.unique if unique is None else unique,
        known.until if unique_until is None else check_until(unique_until),
        known.conflict if on_conflict is None else check_conflict(on_conflict),
        known.expires_ms if expires_s is None else check_expiry(expires_s),
        known.limits if limits is None else limits.or_none(),
        known.need_key or unique_until == "start" or on_conflict in ("replace", "debounce"),
    )
    plain = made.unique is None and made.limits is None and not made.expires_ms
    return None if plain and (made.until, made.conflict) == (b"e", b"") else made


def check_until(until: object) -> bytes:
    """Return as what the end of uniqueness is stored. Raises InvalidInputError."""
    if isinstance(until, str) and until in ("end", "start"):
        return b"e" if until == "end" else b"s"
    raise InvalidInputError(f'unique_until={shown(until)}: use "end" (of the job) or "start"')


def check_conflict(on_conflict: object) -> bytes:
    """Return what the enqueue script is told of a conflict. Raises InvalidInputError."""
    found = _CONFLICTS.get(on_conflict) if isinstance(on_conflict, str) else None
    if found is None:
        raise InvalidInputError(
            f'on_conflict={shown(on_conflict)}: use "skip", "replace" or "debounce"'
        )
    return found


def check_expiry(expires_s: object) -> int:
    """Return a valid expiry in ms. Raises InvalidInputError."""
    if isinstance(expires_s, (int, float)) and is_number(expires_s) and 0 < expires_s <= _MAX_S:
        return max(1, round(expires_s * 1000))
    raise InvalidInputError(f"expires_s={shown(expires_s)}: use more than 0 s, at most 366 days")


def key_bytes(unique: UniqueKey | UniqueKeyOf | None, payload: Mapping[str, Any]) -> bytes | None:
    """Return a job's unique key as bytes; None when it has none. Raises InvalidInputError."""
    key: Any = unique(payload) if callable(unique) else unique
    if key is None:
        return None
    text = key.encode(errors="surrogatepass") if isinstance(key, str) else key
    if isinstance(text, bytes) and 1 <= len(text) <= MAX_UNIQUE_BYTES:
        return text
    size = f"{len(text):,} bytes" if isinstance(text, bytes) else type(text).__name__
    raise InvalidInputError(
        f"unique={shown(key)} ({size}): use 1 to {MAX_UNIQUE_BYTES} bytes, or text of as many in "
        "UTF-8; nothing was enqueued for it. Hash what is longer"
    )
