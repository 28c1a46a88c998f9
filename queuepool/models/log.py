"""What happened to a queue, and who did it: entries of its log. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

KEPT = 2_000  # entries of each kind, about
KEPT_S = 30 * 86_400.0
MAX_PAGE = 1_000


class LogKind(StrEnum):
    """What an entry is about. Each kind is kept by itself, so none pushes out another.

    act: what a person did, or the leader in place of one. finding: what the doctor found, or no
    longer finds. leader: who decides. owner: consumers that came to partitions, or left them.
    scaling: worker counts that changed.
    """

    ACT = "act"
    FINDING = "finding"
    LEADER = "leader"
    OWNER = "owner"
    SCALING = "scaling"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One entry. who: a person, or a process; via: by what, such as a command, or the page.

    what: in one or two words; subject: of a group, a partition ...; why: a person's reason, or that
    of a decision; outcome: what came of it. at_ms, id: given by the server; 0 and empty before.
    """

    kind: LogKind
    what: str
    subject: str = ""
    who: str = ""
    via: str = ""
    why: str = ""
    outcome: str = ""
    at_ms: int = 0
    id: str = ""
