"""One target under atheris: `python -m tests.fuzz.run TARGET [options of libFuzzer] FOLDER...`."""

from __future__ import annotations

import logging
import sys

import atheris

with atheris.instrument_imports(include=["queuepool", "consumer", "coordinator", "tests.fuzz"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    name, *options = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    # libFuzzer starts itself again to merge, by a shell, with the first word as it stands.
    itself = f"{sys.executable} -m tests.fuzz.run {name}"
    atheris.Setup([itself, *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
