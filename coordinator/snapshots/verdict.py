"""The last verdict of a coordinator on its queue."""

from __future__ import annotations

from queuepool.models.doctor import Verdict


class VerdictBoard:
    """The latest verdict. One thread replaces it, any thread reads."""

    def __init__(self) -> None:
        self.latest: Verdict | None = None
