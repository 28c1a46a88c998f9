"""What a consumer tells the process that started it, through a pipe.

    !   its settings are fine: it runs
    ?   a setting is wrong, and a restart would not help

An exit code alone does not tell that: a handler may end its process with any.
"""

from __future__ import annotations

import contextlib
import os
import select

from queuepool.process.endings import CONFIGURATION
from queuepool.process.launch import OwnDescriptor

_STARTED, _REFUSED = b"!", b"?"
_MOST_BYTES = 64


class Teller:
    """The end of a consumer; None: nobody hears it. Programs of its handlers do not get it."""

    def __init__(self, number: int | None) -> None:
        """Raise OSError if it is not open."""
        self._writer = None if number is None else OwnDescriptor(number)
        if number is not None:
            os.set_inheritable(number, False)

    def started(self) -> None:
        """Tell that the settings are fine."""
        self._say(_STARTED)

    def refused(self) -> None:
        """Tell that a setting is wrong."""
        self._say(_REFUSED)

    def _say(self, word: bytes) -> None:
        writer = self._writer
        with contextlib.suppress(OSError):  # closed at either end
            if writer is not None and writer.is_open():  # its number may be that of another file
                os.write(writer.number, word)


class Hearer:
    """The end of the process that started a consumer."""

    def __init__(self, number: int) -> None:
        self._number, self._said, self._ended = number, b"", False
        self._poll = select.poll()  # unlike select(), for numbers above 1,023 as well
        self._poll.register(number, select.POLLIN)

    def hear(self, timeout_s: float = 0.0) -> bool:
        """Return whether the consumer has said something or closed its end, after a wait."""
        while not self._ended and self._poll.poll(timeout_s * 1000):
            said = os.read(self._number, _MOST_BYTES)
            self._said, self._ended, timeout_s = (self._said + said)[-_MOST_BYTES:], not said, 0.0
        return bool(self._said) or self._ended

    @property
    def has_started(self) -> bool:
        """Return whether the consumer has said that it found nothing wrong."""
        return _STARTED in self._said

    def is_refusal(self, code: int) -> bool:
        """Return whether it is for its settings that the consumer has exited with this code."""
        self.hear()
        return code == CONFIGURATION and (not self.has_started or _REFUSED in self._said)

    def close(self) -> None:
        """Close it; call once."""
        os.close(self._number)
