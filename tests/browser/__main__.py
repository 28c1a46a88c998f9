"""Get what the browser tests need, where that is possible, and run them.

Run: `make test-browser`, or `python -m tests.browser [--picture]`.

Chromium and its driver come from PATH, or from Debian's packages when root runs this. axe-core
comes from npm. What cannot be had is named in the last line, and its tests are skipped.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from queuepool.telemetry import printing
from tests.browser import tools

_APT = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "chromium-driver")


def main() -> int:
    """Run the tests; return 0 if they succeed, or there is no Chromium."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", action="store_true", help="write docs/page.png as well")
    given, more = parser.parse_known_args()
    if not tools.has_chromium():
        install_chromium()
    if not tools.has_chromium():
        printing.say("skipped: all browser tests, since there is no chromium and chromedriver")
        return 0
    lacks = "" if tools.AXE.exists() or fetch_axe() else "accessibility (axe-core from npm)"
    environment = os.environ | {"BROWSER_TESTS": "1"} | ({"PICTURE": "1"} if given.picture else {})
    words = [sys.executable, "-m", "pytest", "-q", "--timeout", "150", "tests/browser", *more]
    code = subprocess.run(words, env=environment, check=False).returncode
    printing.say(f"skipped: {lacks}" if lacks else "nothing was skipped")
    return code


def install_chromium() -> None:
    """Install Debian's packages, where that is possible."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for words in (("apt-get", "update", "-qq"), _APT):
            subprocess.run(words, capture_output=True, timeout=300, env=environment, check=False)


def fetch_axe() -> bool:
    """Put axe-core where the tests look for it; return whether that was possible."""
    npm = shutil.which("npm")
    if npm is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        words = (npm, "pack", "--silent", f"axe-core@{tools.AXE_VERSION}")
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=120, check=False)
        packed = next(Path(folder).glob("*.tgz"), None)
        if done.returncode or packed is None:
            return False
        with tarfile.open(packed) as archive:
            source = archive.extractfile("package/axe.min.js")
            assert source is not None
            tools.AXE.parent.mkdir(parents=True, exist_ok=True)
            tools.AXE.write_bytes(source.read())
    return True


if __name__ == "__main__":
    sys.exit(main())
