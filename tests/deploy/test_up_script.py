"""deploy/up, with a `docker` that only writes down how it was called."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY

FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the script, beside the files that it needs."""
    folder = tmp_path / "deploy"
    folder.mkdir()
    shutil.copy(DEPLOY / "up", folder)
    (tmp_path / "bin").mkdir()
    docker = tmp_path / "bin" / "docker"
    docker.write_text(FAKE)
    docker.chmod(0o755)
    return folder


def up(folder: Path, *words: str, **variables: str) -> list[str]:
    """Run the script; return the calls of docker."""
    calls = folder.parent / "calls"
    calls.write_text("")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUEUEPOOL_")}
    path = f"{folder.parent / 'bin'}:{os.environ['PATH']}"
    environment = kept | {"PATH": path, "CALLS": str(calls)} | variables
    subprocess.run([folder / "up", *words], env=environment, check=True, timeout=60)
    return calls.read_text().splitlines()


def secrets(folder: Path) -> dict[str, str]:
    lines = (folder / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_passwords_are_made_once_and_only_the_owner_can_read_them(copy: Path) -> None:
    up(copy)
    first = secrets(copy)
    up(copy)

    assert stat.S_IMODE((copy / ".env").stat().st_mode) == 0o600
    assert secrets(copy) == first
    assert first["QUEUEPOOL_PASSWORD"] != first["QUEUEPOOL_TOKEN"]
    assert all(len(first[name]) == 48 for name in ("QUEUEPOOL_PASSWORD", "QUEUEPOOL_TOKEN"))


@pytest.mark.parametrize("end", ["\n", ""], ids=["with", "without"])
def test_settings_that_were_written_before_the_first_start_stay_and_get_passwords(
    copy: Path, end: str
) -> None:
    (copy / ".env").write_text(f"QUEUEPOOL_TOKEN=mine\nQUEUEPOOL_IMAGE=my-jobs{end}")
    (copy / ".env").chmod(0o644)

    up(copy)

    found = secrets(copy)
    assert len(found.pop("QUEUEPOOL_PASSWORD")) == 48
    assert found == {
        "QUEUEPOOL_TOKEN": "mine",
        "QUEUEPOOL_IMAGE": "my-jobs",
        "COMPOSE_PROJECT_NAME": "queuepool",
    }
    assert stat.S_IMODE((copy / ".env").stat().st_mode) == 0o600


def test_it_builds_starts_and_shows_the_cluster(copy: Path) -> None:
    calls = up(copy, "--scale", "consumer=9", PYTHON="3.12")

    assert calls == [
        "docker build --build-arg PYTHON=3.12 --file Dockerfile --tag queuepool ..",
        "docker build --tag queuepool-example example",
        "docker compose version",
        "docker compose up --detach --scale consumer=9",
        "docker compose run --rm -T cli status",
    ]


def test_an_image_of_the_user_is_not_built(copy: Path) -> None:
    (copy / ".env").write_text("QUEUEPOOL_IMAGE=my-jobs\n")

    assert [call for call in up(copy) if " build " in call] == []
    assert [call for call in up(copy, QUEUEPOOL_IMAGE="other") if " build " in call] == []
