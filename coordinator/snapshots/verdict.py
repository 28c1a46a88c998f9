"""The last verdict of a coordinator on its queue, and its last advice."""

from __future__ import annotations

from queuepool.models.advice import Advised
from queuepool.models.doctor import Verdict


class VerdictBoard:
    """The latest verdict and advice. One thread replaces them, any thread reads."""

    def __init__(self) -> None:
        self.latest: Verdict | None = None
        self.advised: Advised | None = None
