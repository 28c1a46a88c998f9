"""Which processes are surely of this machine, and have ended."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from queuepool.servers import namespaces
from queuepool.verbs.owner.lifeline import namespace_of

FIRST = "pid:[4026531836]"  # the first namespace, on every machine
BOOT, OTHER_BOOT = "6f1c2d3e-5d54-4c0f-9f0a-0b7c9a8e4f50", "0b7c9a8e-5d54-4c0f-9f0a-6f1c2d3e4f50"


class Machine:
    """What a kernel tells its processes."""

    def __init__(self, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._proc = proc
        monkeypatch.setattr(namespaces, "_PROC", proc)

    def becomes(self, boot: str | None, namespace: str | None) -> str:
        """Be another machine, or another boot; return the namespace of the pid of this process."""
        for name in ("self/ns", "sys/kernel/random"):
            (self._proc / name).mkdir(parents=True, exist_ok=True)
        link, boot_id = self._proc / "self/ns/pid", self._proc / "sys/kernel/random/boot_id"
        link.unlink(missing_ok=True)
        boot_id.unlink(missing_ok=True)
        if namespace is not None:
            link.symlink_to(namespace)
        if boot is not None:
            boot_id.write_text(f"{boot}\n")
        return namespaces.pid_namespace()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "proc", monkeypatch)


@pytest.fixture(scope="module")
def ended() -> str:
    """Return the host and pid of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return f"{socket.gethostname()}:{process.pid}"


def test_a_process_of_this_boot_and_namespace_without_its_pid_has_ended(
    machine: Machine, ended: str
) -> None:
    here = machine.becomes(BOOT, FIRST)

    assert namespaces.has_ended(ended, here)
    assert not namespaces.has_ended(f"{socket.gethostname()}:{os.getppid()}", here)
    assert namespaces.has_ended(f"{socket.gethostname()}:{os.getpid()}", here)  # before us


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_a_process_that_has_ended_is_known_on_this_machine(ended: str) -> None:
    assert namespaces.has_ended(ended, namespaces.pid_namespace())


@pytest.mark.parametrize(
    ("boot", "namespace"), [(OTHER_BOOT, FIRST), (BOOT, "pid:[4026532281]"), (BOOT, "pid:[4]")]
)
def test_nothing_is_known_of_a_process_of_another_boot_or_namespace_with_this_host_name(
    boot: str, namespace: str, machine: Machine, ended: str
) -> None:
    there = machine.becomes(boot, namespace)
    machine.becomes(BOOT, FIRST)

    assert there
    assert not namespaces.has_ended(ended, there)


def test_nothing_is_known_of_a_consumer_that_tells_the_number_of_its_namespace_only(
    machine: Machine, ended: str
) -> None:
    machine.becomes(BOOT, FIRST)

    assert not namespaces.has_ended(ended, "4026531836")


@pytest.mark.parametrize(
    ("boot", "namespace"),
    [(None, FIRST), ("", FIRST), ("\udcff", FIRST), (BOOT, None), (BOOT, "pid:[]"), (None, None)],
)
def test_nothing_is_known_where_the_kernel_tells_not_enough(
    boot: str | None, namespace: str | None, machine: Machine, ended: str
) -> None:
    if boot == "\udcff":
        machine.becomes(BOOT, namespace)
        (namespaces._PROC / "sys/kernel/random/boot_id").write_bytes(b"\xff" * 36)
    else:
        machine.becomes(boot, namespace)

    assert namespaces.pid_namespace() == ""
    assert not namespaces.has_ended(ended, "")


def test_a_namespace_fits_into_a_lifeline(machine: Machine) -> None:
    for number in range(100):
        here = machine.becomes(BOOT, f"pid:[{number}]")

        assert here
        assert namespace_of(f"abc:7:{here}") == here


@pytest.mark.parametrize("owner", ["", "x", ":1", "h:0", "h:-1", "h:1.5", "h:99999999999"])
def test_an_owner_that_names_no_process_has_not_ended(owner: str, machine: Machine) -> None:
    here = machine.becomes(BOOT, FIRST)

    assert not namespaces.has_ended(owner.replace("h", socket.gethostname()), here)
