"""A container engine: the machine's own, or a daemon that lives as long as the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import wait_until

PACKAGES = ("docker.io", "docker-compose", "debootstrap", "iptables")
_INSTALL_S, _BUILD_S = 600, 1200
_TABLES = ("filter", "nat")


class UnavailableError(Exception):
    """Why there is no engine here."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Runs docker and its compose with an environment. docker: the program."""

    docker: str
    composer: tuple[str, ...]
    environment: dict[str, str]

    def run(self, *words: str, cwd: Path | None = None, timeout_s: float = _BUILD_S) -> str:
        """Run docker; return what it printed. Raises CalledProcessError."""
        return run((self.docker, *words), self.environment, cwd=cwd, timeout_s=timeout_s)

    def succeeds(self, *words: str, timeout_s: float = 120) -> bool:
        """Return whether a docker command succeeds."""
        try:
            self.run(*words, timeout_s=timeout_s)
        except (subprocess.SubprocessError, OSError):
            return False
        return True


def run(
    words: tuple[str, ...], environment: dict[str, str], *, cwd: Path | None, timeout_s: float
) -> str:
    """Return what a program printed. Raises CalledProcessError with its output in a note."""
    done = subprocess.run(
        words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=timeout_s,
    )  # fmt: skip
    if done.returncode:
        error = subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
        error.add_note(f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        raise error
    return done.stdout


@contextmanager
def engine() -> Iterator[Engine]:
    """Yield an engine with compose. Raises UnavailableError."""
    present = _of_this_machine()
    if present is not None:
        yield present
        return
    _install()
    with (
        tempfile.TemporaryDirectory(prefix="queuepool-engine-", dir="/var/tmp") as directory,
        _network_restored(),
        _daemon(Path(directory)) as socket,
    ):
        environment = _environment() | {"DOCKER_HOST": f"unix://{socket}"}
        docker = "/usr/bin/docker"
        environment["PATH"] = f"/usr/bin:{environment['PATH']}"  # of the daemon's version
        yield Engine(docker, _composer(docker, environment), environment)


def _environment() -> dict[str, str]:
    # docker-compose may be a program in Python, which our modules are not for.
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _of_this_machine() -> Engine | None:
    docker, environment = shutil.which("docker"), _environment()
    if docker is None:
        return None
    with suppress(UnavailableError):
        found = Engine(docker, _composer(docker, environment), environment)
        return found if found.succeeds("info") else None
    return None


def _composer(docker: str, environment: dict[str, str]) -> tuple[str, ...]:
    for words in ((docker, "compose"), ("docker-compose",)):
        with suppress(subprocess.SubprocessError, OSError):
            run((*words, "version"), environment, cwd=None, timeout_s=60)
            return words
    raise UnavailableError("neither `docker compose` nor `docker-compose` works")


def _install() -> None:
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise UnavailableError(
            "no container engine answers, and only root on Debian can install one here"
        )
    environment = dict(os.environ) | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run((apt, "update", "-qq"), environment, cwd=None, timeout_s=_INSTALL_S)
        install = (apt, "install", "-y", "-qq", "--no-install-recommends", *PACKAGES)
        run(install, environment, cwd=None, timeout_s=_INSTALL_S)
    except subprocess.SubprocessError as error:
        raise UnavailableError(f"the engine could not be installed: {error}") from error


@contextmanager
def _network_restored() -> Iterator[None]:
    """Undo what a daemon leaves: rules of the packet filter, a bridge, and forwarding."""
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    allowed = forwarding.read_text()
    bridge = Path("/sys/class/net/docker0")
    had_bridge = bridge.exists()
    words: dict[str, tuple[str, ...]] = {t: ("iptables-save", "-t", t) for t in _TABLES}
    saved = {t: run(each, _environment(), cwd=None, timeout_s=30) for t, each in words.items()}
    try:
        yield
    finally:
        for text in saved.values():
            subprocess.run(["iptables-restore"], input=text, text=True, check=False, timeout=30)
        if bridge.exists() and not had_bridge:
            subprocess.run(["ip", "link", "delete", "docker0"], check=False, timeout=30)
        forwarding.write_text(allowed)


@contextmanager
def _daemon(directory: Path) -> Iterator[Path]:
    socket, log = directory / "docker.sock", directory / "dockerd.log"
    daemon = shutil.which("dockerd") or "/usr/sbin/dockerd"
    words = [
        daemon, "--data-root", str(directory / "data"), "--exec-root", str(directory / "exec"),
        "-H", f"unix://{socket}", "-p", str(directory / "pid"),
    ]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)
    try:
        client = Engine("/usr/bin/docker", (), _environment() | {"DOCKER_HOST": f"unix://{socket}"})
        try:
            wait_until(
                lambda: process.poll() is not None or client.succeeds("info"),
                60,
                "the daemon answers",
                interval_s=0.5,
            )
        except AssertionError as error:
            raise UnavailableError(str(error)) from error
        if process.poll() is not None:
            raise UnavailableError(f"dockerd ended: {log.read_text()[-1500:]}")
        yield socket
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
