"""Job ids that hint where their job is. Pure.

    gD 4.kPq0Zs_1xB
    |  twelve characters: 72 random bits
    two characters: the 12 bits of the slot of the partition key

The slot is a hint, never a proof: a user's own id may look the same. It names the slot and not the
partition, so it stays correct when the number of partitions changes. Ids can only collide within
one slot: a new id equals one of n that the slot holds or still remembers with probability n / 2^72
(5 million of them: 1 in 10^15).
"""

from __future__ import annotations

import re
from binascii import b2a_base64

_LENGTH, _RANDOM = 14, 12
# Base64 with another end: an id is never mistaken for an option, and never needs quotes.
_FROM_BASE64 = bytes.maketrans(b"+/", b"_.")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_."
# Also of a batch, and of a job of one: see queuepool.protocol.batches
_HINTED = re.compile(r"[A-Za-z0-9_.]{14}|[A-Za-z0-9_.]{16}(?:-[a-z0-9_-]{1,32})?~[0-9]{1,8}")


def hint_of(slot: int) -> bytes:
    """Return the two characters with which ids of a slot's jobs begin."""
    return bytes((_ALPHABET[slot >> 6], _ALPHABET[slot & 63]))


def new_ids(count: int, entropy: bytes, hint: bytes) -> list[bytes]:
    """Return `count` ids with this hint. Needs 21 bytes of entropy for every two of them."""
    text = bytearray(b2a_base64(entropy, newline=False).translate(_FROM_BASE64))
    places = range(0, len(text) - 1, _LENGTH)
    text[0 : len(text) - 1 : _LENGTH] = hint[:1] * len(places)
    text[1::_LENGTH] = hint[1:] * len(places)  # all at once: usually 200
    whole = bytes(text)
    return [whole[i : i + _LENGTH] for i in range(0, _LENGTH * count, _LENGTH)]


def new_endings(count: int, entropy: bytes) -> list[bytes]:
    """Return the random ends of `count` ids, 12 characters; needs 9 bytes of entropy for each."""
    text = b2a_base64(entropy, newline=False).translate(_FROM_BASE64)
    return [text[i : i + _RANDOM] for i in range(0, _RANDOM * count, _RANDOM)]


def ending_from(nine: bytes) -> bytes:
    """Return the end of one id, made of nine bytes."""
    return b2a_base64(nine, newline=False).translate(_FROM_BASE64)


def ending_of(job_id: bytes) -> bytes:
    """Return the random end of an id that the library made; an end alone is returned as is."""
    return job_id[-_RANDOM:]


def hinted_slot(job_id: str) -> int | None:
    """Return the slot that an id names, if it looks like one that the library made."""
    if not _HINTED.fullmatch(job_id):
        return None
    high, low = job_id[:2].encode()
    return _ALPHABET.index(high) << 6 | _ALPHABET.index(low)
