"""Partition key -> group, slot and partition. Pure, and the same in every process and version.

    key --blake2b, 8 bytes, big-endian--> mod 4096 = slot --mod N--> partition

The slots are fixed so that a later change of N moves whole slots. When N divides 4,096,
`slot mod N` equals the plain `hash mod N`.
"""

from __future__ import annotations

from hashlib import blake2b

from queuepool.errors import InvalidInputError
from queuepool.models.spread import is_marked
from queuepool.models.tenants import prefix_of, tenant_of

SLOTS = 4096
MAX_GROUP_BYTES = 64
MAX_KEY_BYTES = 65536


def key_bytes(partition_key: str | bytes) -> bytes:
    """Return the key as bytes. Any 1 to 65,536 bytes are a key.

    A string that UTF-8 cannot encode (a lone surrogate) keeps its bytes by `surrogatepass`,
    so that it lands in the same partition every time.
    """
    if isinstance(partition_key, str):
        raw = partition_key.encode("utf-8", "surrogatepass")
    elif isinstance(partition_key, bytes):
        raw = partition_key
    else:
        raise InvalidInputError(
            f"partition_key must be str or bytes, not {type(partition_key).__name__}; "
            "use str(key) for a number"
        )
    if not 1 <= len(raw) <= MAX_KEY_BYTES:
        raise InvalidInputError(
            f"partition_key takes 1 to {MAX_KEY_BYTES:,} bytes, this one has {len(raw):,}; "
            "use the id of the bulk action, for example"
        )
    return raw


def group_of(key: bytes, tenant: bytes = b"") -> bytes:
    """Return the task group of a key: the key itself, or its 16-byte digest when it is long.

    That of a tenant begins with the tenant's name; a key that looks so, or like a part of a spread
    group, is replaced by its digest.
    """
    prefix = prefix_of(tenant) if tenant else b""
    fits = len(prefix) + len(key) <= MAX_GROUP_BYTES and not is_marked(key)
    if fits and (tenant or tenant_of(key) is None):
        return prefix + key
    return prefix + blake2b(key, digest_size=16).digest()


def slot_of(key: bytes) -> int:
    """Return the slot of a key, 0 to 4,095."""
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") % SLOTS


def partition_of(slot: int, partitions: int) -> int:
    """Return the partition of a slot, given the number of partitions."""
    return slot % partitions


def home_of(limit: str, partitions: int) -> int:
    """Return the partition that is the home of a limit: that of its name as a partition key."""
    return partition_of(slot_of(key_bytes(limit)), partitions)
