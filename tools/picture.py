"""Draw docs/demo.svg: one frame of a real `queuepool demo`, as a terminal shows it.

Run: `python -m tools.picture [--after 54]`. Takes as long as the demo does until that second.
"""

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, LINES = 132, 24
_FONT_FACE = re.compile(r"@font-face\s*{[^}]*}\s*")
_REDRAW = re.compile(r"(?:\r?\x1b\[2K(?:\x1b\[1A)?)+")


def record(after_s: float) -> str:
    """Return what a terminal of 132 x 24 was sent by the demo in its first seconds."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    demo = subprocess.Popen(
        [sys.executable, "-m", "queuepool", "demo"],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)},
    )  # fmt: skip
    os.close(theirs)
    seen, end = b"", monotonic() + after_s
    while (left := end - monotonic()) > 0:
        if not select.select([ours], [], [], left)[0]:
            break
        try:
            seen += os.read(ours, 65536)
        except OSError:  # the demo ended and closed its side
            break
    demo.send_signal(signal.SIGINT)
    os.set_blocking(ours, False)
    demo.wait(timeout=60)
    os.close(ours)
    return seen.decode("utf-8", "replace")


def main() -> int:
    """Record, cut one frame out, write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--after", type=float, default=54.0, help="which second to show")
    frames = _REDRAW.split(record(parser.parse_args().after))
    whole = [f for f in frames if "partition" in f and "small groups" in f]
    if not whole:
        sys.stderr.write("the demo drew no whole frame; run it by hand to see why\n")
        return 1
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text("$ make demo\n"))
        console.print(Text.from_ansi(whole[-1].replace("\r\n", "\n").strip("\n")))
        svg = console.export_svg(title="queuepool demo")
    # The reader's own fonts: a picture in a repository fetches nothing.
    svg = _FONT_FACE.sub("", svg).replace("Fira Code", "Menlo, Consolas")
    (ROOT / "docs" / "demo.svg").write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
