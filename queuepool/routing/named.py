"""The slot of a group by its name, when neither a job nor its record tells. Pure.

A key that is long, or has bytes that no text has, may be a digest, which tells nothing: the record
of a group that was ever configured has its slot beside the name.
"""

from __future__ import annotations

from queuepool.models.spread import MARK, is_marked
from queuepool.models.tenants import SEPARATOR, key_in, prefix_of, tenant_of
from queuepool.routing.slots import slot_of
from queuepool.routing.spreading import slot_of_part

_DIGEST_BYTES = 16


def slot_of_group(group: bytes, separator: str = "") -> int | None:
    """Return the slot of a group; None if its name does not tell.

    separator: QUEUEPOOL_TENANT_SEPARATOR, if there is one.
    """
    tenant, key = tenant_of(group), key_in(group)
    if len(key) == _DIGEST_BYTES and not _is_text(key):
        return None
    prefix = prefix_of(tenant) if tenant else b""
    inner = group[len(prefix) :]
    if not is_marked(inner):
        return slot_of(
            b"%s%s%s" % (tenant, (separator or SEPARATOR).encode(), key) if tenant else key
        )
    whole = prefix + key
    slot = slot_of_group(whole, separator)
    return None if slot is None else slot_of_part(slot, whole, inner[len(MARK)])


def _is_text(key: bytes) -> bool:
    try:
        return key.decode().isprintable()
    except UnicodeDecodeError:
        return False
