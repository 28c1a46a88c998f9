"""How consumers and coordinators end: exit codes, and leaving at once."""

import logging
import os

from queuepool.telemetry import printing

OK, FAILED, CONFIGURATION, FENCED, WATCHDOG = 0, 1, 2, 3, 4


def exit_now(code: int) -> None:
    """End this process without waiting for its threads; what was logged and printed is kept."""
    logging.shutdown()
    printing.flush_all()
    os._exit(code)
