"""Finds what JSON cannot express before it is stored. Pure.

Unbounded depth, NaN, infinity, keys such as 1 and "1", which are one in JSON, and times whose
offset from UTC has seconds, as of zones before they had standard time: the encoder rounds it to
minutes, which would be another moment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

import msgspec

from queuepool.errors.escaping import shown
from queuepool.protocol.models import plain_model

_WITHOUT_FLOATS = frozenset((str, int, bool, type(None), bytes))
_TEXTS, _INTEGERS = frozenset((str,)), frozenset((int,))
_HOLDERS = frozenset((dict, list, tuple))
_OFFSET = re.compile(rb':\d\d(?:\.\d{1,6})?[+-]\d\d:\d\d"')
_MAX_STEPS = 16  # of the way to a value, shown in an error
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

Place = tuple[Any, Any, Any]  # (plain values, what they stand for, the place that holds it)


def is_deeper(document: bytes, levels: int) -> bool:
    """Return whether a JSON document has more levels of lists and objects than that.

    A short one costs nothing, one with few brackets two counts. In others, strings are cut out,
    everything except brackets is dropped, and each replacement removes the innermost level.
    """
    if len(document) <= 2 * levels:
        return False
    if document.count(b"[") + document.count(b"{") <= levels:
        return False
    outside = document.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    left = b"".join(outside).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(levels):
        left = left.replace(b"[]", b"")
    return left != b""


def find_lost(value: Any, document: bytes, named: bool = True) -> str | None:
    """Return what its JSON document does not say of a value, and what to do; None: nothing.

    The encoder writes NaN as null, which would be read as None, and as a key as "nan". Flat values
    of plain types are told by these; of others, documents that are read as the value, or have no
    sign of such things, cost no look at it. named: the document is an envelope, and the outermost
    keys are names of arguments; see find_lost_name.
    """
    if type(value) is dict and _WITHOUT_FLOATS.issuperset(map(type, value.values())):
        if named or _lost_key(value) is None:
            return None
    elif _says_all(value, document, named):
        return None
    waiting: list[Place] = [((value,), None, None)]
    for place in waiting:  # it grows
        holder = place[0]
        if why := _lost_key(holder):
            return f"{_shown(*place[1:])} has a key that {why}"
        for found in holder.values() if type(holder) is dict else holder:
            kind = type(found)
            if kind in _WITHOUT_FLOATS:
                continue
            plain = found if kind is float or kind in _HOLDERS else _opened(found)
            if type(plain) in _HOLDERS:
                waiting.append((plain, found, place))
            elif why := _why_lost(plain):
                return f"{_shown(found, place)} {why}"
    return None


def _says_all(value: Any, document: bytes, named: bool) -> bool:
    """Return whether a document is read as a value of plain types, or has no sign of a loss.

    Read and written again, it is shorter if an object in it has two keys of one text.
    """
    try:
        read = msgspec.json.decode(document)
        if (read[1] if named else read) == value:
            return True
        return not _has_signs(document) and msgspec.json.encode(read) == document
    except Exception:  # a number that is only written, a comparison that fails
        return False


def _has_signs(document: bytes) -> bool:
    find = document.find  # `in` takes twice as long
    if find(b"null") >= 0 or find(b'nan":') >= 0 or find(b'inf":') >= 0:
        return True
    signed = find(b"+") >= 0 or find(b"-") >= 0
    return signed and _OFFSET.search(document) is not None


def find_lost_name(payload: Mapping[Any, Any]) -> str | None:
    """Return what JSON does not say of a payload's own keys, and what to do; None: nothing."""
    why = _lost_key(payload if type(payload) is dict else dict(payload))
    return f"it has a key that {why}" if why else None


def _opened(value: Any) -> Any:
    return msgspec.to_builtins(value, builtin_types=(datetime, time), enc_hook=plain_model)


def _lost_key(holder: Any) -> str | None:
    if type(holder) is not dict or _TEXTS.issuperset(map(type, holder)):
        return None
    if _INTEGERS.issuperset(map(type, holder)):
        return None
    return next(filter(None, map(_why_lost, holder)), None) or _why_one(holder)


def _why_one(holder: dict[Any, Any]) -> str | None:
    """Return why one of two keys is lost: they differ, but not as the texts that JSON has."""
    document = msgspec.json.encode(dict.fromkeys(holder))
    if len(msgspec.json.decode(document)) == len(holder):
        return None
    texts = [next(iter(msgspec.json.decode(msgspec.json.encode({key: None})))) for key in holder]
    text = next(text for text in texts if texts.count(text) > 1)
    return f"is {shown(text)} in JSON, as another of its keys is; use texts that differ as keys"


def _why_lost(value: Any) -> str | None:
    if type(value) is float and not math.isfinite(value):
        return f"is {value}, which JSON does not support; use None, or omit it"
    offset = value.utcoffset() if isinstance(value, (datetime, time)) else None
    if offset is not None and offset.total_seconds() % 60:
        return f"is {offset} from UTC, which JSON rounds to minutes; convert it to UTC"
    return None


def _shown(found: Any, place: Place) -> str:
    steps: list[str] = []
    while place[2] is not None and len(steps) < _MAX_STEPS:  # the outermost is not the caller's
        holder, itself, outer = place
        if type(holder) is dict:
            step = next(f".{key}" for key, value in holder.items() if value is found)
        else:
            step = next(f"[{n}]" for n, value in enumerate(holder) if value is found)
        steps.append(step[:64])
        found, place = itself, outer
    return "".join(reversed(steps)).lstrip(".") or "it"
