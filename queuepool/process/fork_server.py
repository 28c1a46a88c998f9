"""The fork server: one process that has imported a program, and forks children that run it.

    python -P launch.py --forks --tied-to PID consumer --app rows --partition auto

It serves `queuepool.process.forks`, over the socket that is its standard input:

    supervisor                      fork server                 child
    starts a fork server            imports; says ready
    sends words, variables,
      files, and a pipe             forks twice
                                    says the child's id         waits on the pipe
    knows the child, releases it                                becomes the program
    has enough children, kills it   is gone

A child is forked by a process in between that ends at once, so the supervisor, which is the
subreaper meanwhile, becomes its parent: exit codes, signals and the tie to the parent are as if it
had started the child itself. `multiprocessing` has a fork server, too, but its children are its
own: their supervisor learns no exit code without it, and all end when it does.

Invariants:
- A child runs no code of a program before the supervisor knows it; if the supervisor gives up or
  ends, the pipe closes, and the child exits.
- A process forks only if it has one thread, no connection and no gRPC, whatever the interpreter's
  startup files did; otherwise it says why, and the supervisor starts its children one by one.
- No code of the user is imported before the fork. A server never outlives the start of its
  children, so code that is upgraded in place takes effect with the next start, as without forks.
- Nothing of the server stays open in a child but the files that were sent, and what libraries hold
  open for themselves, as libffi 3.8 does.

What differs from a program of its own: children of one server share the interpreter's hash seed and
address layout, as those of any fork do.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import socket
import sys
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from queuepool.telemetry import printing

READY = b"ready"
_REQUEST_BYTES = 2**16
_FILES = 16
_OPEN_ELSEWHERE = ("socket:", "anon_inode:")


def serve() -> list[str]:
    """Fork children on request. Returns in each child: the words of what it has to become."""
    control = socket.socket(fileno=os.dup(0))
    why = why_not({0, control.fileno()})
    printing.flush_all()  # what startup files printed must not be printed by each child
    control.send(why.encode() or READY)
    while not why:
        text, files, _, _ = socket.recv_fds(control, _REQUEST_BYTES, _FILES)
        if not text:
            break
        if fork_orphan(control, files):
            return _become(control, text, files)
    os._exit(0)


def why_not(own: Collection[int]) -> str:
    """Return what forbids a fork, or nothing. own: descriptors that no child keeps."""
    if threading.active_count() > 1 or len(list(Path("/proc/self/task").iterdir())) > 1:
        return "an import started a thread"
    if "grpc" in sys.modules:
        return "an import loaded gRPC"
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            opened = int(each.name) not in {1, 2, *own}  # 1 and 2: where children write
            if opened and str(each.readlink()).startswith(_OPEN_ELSEWHERE):
                return "an import opened a connection"
    return ""


def fork_orphan(control: socket.socket, files: Collection[int]) -> bool:
    """Fork a child that the subreaper adopts; return whether this is the child.

    The subreaper reads from the other end of control: the child's id, and that it is adopted.
    files: for the child alone.
    """
    between = os.fork()
    if between == 0:
        child = os.fork()
        if child:
            control.send(b"%d" % child)
            os._exit(0)
        return True
    for file in files:
        os.close(file)
    with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored
        os.waitpid(between, 0)  # its child has another parent now
    control.send(b"adopted")
    return False


def _become(control: socket.socket, text: bytes, files: Sequence[int]) -> list[str]:
    """Wait for the release, then set up what `exec` would have."""
    os.setpgid(0, 0)
    control.close()
    release, *sent = files
    if not os.read(release, 1):
        os._exit(0)
    os.close(release)
    request = json.loads(text)
    targets = request["targets"]
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, max(targets) + 1) for file in sent]
    for file in sent:
        os.close(file)
    for file, target in zip(aside, targets, strict=True):
        os.dup2(file, target)
        os.close(file)
    os.environ.update(request["variables"])
    for name in request["without"]:
        os.environ.pop(name, None)
    importlib.invalidate_caches()  # files may have changed since the server looked
    words: list[str] = request["words"]
    return words
