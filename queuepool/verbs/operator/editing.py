"""Verbs that change one job that is there. Pure."""

from __future__ import annotations

from queuepool.errors.escaping import id_bytes
from queuepool.verbs import Verb


def edit(job_id: str, body: bytes = b"", envelope: bytes = b"") -> Verb[tuple[str, bytes]]:
    """Return (state, body) of a job; or replace its envelope, if it has this body.

    Then the state is "edited", or why not: "unknown", "in-flight", "cancelled", "changed",
    "moving".
    """
    args = [id_bytes(job_id), body, envelope]
    return Verb("edit", args, lambda r: (r[0].decode(), bytes(r[1])))


def hasten(job_id: str) -> Verb[bool | None]:
    """Make a delayed job due now; returns whether it was delayed.

    None: its group is on its way to another partition.
    """
    return Verb("hasten", [id_bytes(job_id)], lambda r: None if r < 0 else bool(r))
