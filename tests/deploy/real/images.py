"""The images that ours are built on: from a registry, or else made of Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.deploy.real.engine import Engine, UnavailableError, run
from tests.paths import ROOT

SERVER = "valkey/valkey:8.1"
OWN_SERVER = "queuepool-test-server"
_DEBIAN, _DEBIAN_PYTHON = "bookworm", "3.11"
_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_SERVER_FILE = """
FROM {base}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server
RUN ln -s redis-server /usr/bin/valkey-server && ln -s redis-cli /usr/bin/valkey-cli \\
    && install -d -m 1777 -o 999 /data
"""


def base(engine: Engine) -> tuple[str, str]:
    """Return the Python version to build with, and where its image comes from."""
    wanted = _default_python()
    if _present(engine, f"python:{wanted}-slim-bookworm"):
        return wanted, "the registry"
    made = f"python:{_DEBIAN_PYTHON}-slim-bookworm"
    if not engine.succeeds("image", "inspect", made):
        engine.run("import", *_settings(), str(_root_of_debian()), made)
    return _DEBIAN_PYTHON, "Debian's packages, since no registry answers"


def server(engine: Engine, python: str) -> tuple[str, str]:
    """Return the image of the server, and where it comes from."""
    if _present(engine, SERVER):
        return SERVER, "the registry"
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "Dockerfile"
        file.write_text(_SERVER_FILE.format(base=f"python:{python}-slim-bookworm"))
        engine.run("build", "--tag", OWN_SERVER, directory)
    return OWN_SERVER, "Debian's redis-server under the names of Valkey, since no registry answers"


def _default_python() -> str:
    first = (ROOT / "deploy" / "Dockerfile").read_text().partition("ARG PYTHON=")[2]
    return first.split()[0]


def _present(engine: Engine, name: str) -> bool:
    return engine.succeeds("image", "inspect", name) or engine.succeeds("pull", name)


def _settings() -> tuple[str, ...]:
    words = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    if _AUTHORITIES.exists():
        words.append(f"PIP_CERT={_AUTHORITIES}")
    return tuple(word for each in words for word in ("--change", f"ENV {each}"))


def _root_of_debian() -> Path:
    """Return an archive of a small Debian with Python, made once. Raises UnavailableError."""
    kept = Path.home() / ".cache" / "queuepool" / "deploy" / f"{_DEBIAN}.tar"
    if kept.exists():
        return kept
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise UnavailableError("no registry answers, and only root can make a base by debootstrap")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        root = Path(directory) / "root"
        include = "--include=python3,python3-venv,python3-pip,ca-certificates"
        words = ("debootstrap", "--variant=minbase", include, _DEBIAN, str(root))
        try:
            run(words, dict(os.environ), cwd=None, timeout_s=900)
        except subprocess.SubprocessError as error:
            raise UnavailableError(f"debootstrap failed: {error}") from error
        (root / "usr/bin/python").symlink_to("python3")
        for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            marker.unlink()
        if _AUTHORITIES.exists():
            shutil.copy(_AUTHORITIES, root / "etc/ssl/certs/ca-certificates.crt")
        partial = kept.with_suffix(".partial")
        run(("tar", "-C", str(root), "-cf", str(partial), "."), dict(os.environ), cwd=None,
            timeout_s=300)  # fmt: skip
        partial.rename(kept)
    return kept
