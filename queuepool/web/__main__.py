"""The page as a child of `queuepool up`, which names its token in the environment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from queuepool.errors import ConfigurationError
from queuepool.process.endings import CONFIGURATION, OK
from queuepool.settings import local_cluster as local
from queuepool.telemetry import printing
from queuepool.telemetry.logs import configure
from queuepool.web.settings import load_settings

_WRITTEN_S = 10.0


def main(_arguments: Sequence[str] = ()) -> int:
    """Serve the page; returns the exit code."""
    from queuepool.web.serving import serve

    try:
        settings = load_settings()
        configure(settings.log_format, "INFO")
        _await_state_file()
        serve(settings, lambda address: printing.say(f"ready web={address} "))
    except ConfigurationError as error:
        printing.complain("web", error)
        return CONFIGURATION
    return OK


def _await_state_file() -> None:
    # `up` writes it as soon as it has started everybody.
    pause, waited_s = threading.Event(), 0.0
    while local.read() is None and waited_s < _WRITTEN_S:
        pause.wait(0.05)
        waited_s += 0.05


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
