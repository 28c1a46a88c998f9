"""The tasks of `dangerous`, in processes that are not ready before a file is there."""

import os
import threading
from pathlib import Path

GATE = "TEST_GATE"  # the variable with its name

if GATE in os.environ:
    while not Path(os.environ[GATE]).exists():
        threading.Event().wait(0.01)

from tests.apps import dangerous  # noqa: E402, F401 - it registers them
