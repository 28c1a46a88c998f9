"""The files of deploy/ as data, and the settings that processes read from their environments."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_settings import BaseSettings

from consumer.settings import ConsumerSettings
from coordinator.settings import CoordinatorSettings
from queuepool.cli.commands.check import OTHER_VARIABLES
from queuepool.settings.environment import QueuePoolSettings, load
from tests.paths import ROOT
from tests.shell import OURS

DEPLOY = ROOT / "deploy"
MODELS: tuple[type[BaseSettings], ...] = (QueuePoolSettings, ConsumerSettings, CoordinatorSettings)
OWN: dict[str, type[BaseSettings]] = {
    "consumer": ConsumerSettings,
    "coordinator": CoordinatorSettings,
}
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def known_variables() -> set[str]:
    """Return every variable that a process or a command reads."""
    return set(OTHER_VARIABLES) | {
        f"{model.model_config.get('env_prefix', '')}{name.upper()}"
        for model in MODELS
        for name in model.model_fields
    }


def unknown(environment: Mapping[str, object]) -> set[str]:
    """Return the variables with our prefixes that nothing reads."""
    return {name for name in environment if name.startswith(OURS)} - known_variables()


def settings_of(process: str, environment: Mapping[str, object]) -> BaseSettings:
    """Return what a process reads from an environment. Raises ConfigurationError."""
    with pytest.MonkeyPatch.context() as here:
        for name in [name for name in os.environ if name.startswith(OURS)]:
            here.delenv(name)
        for name, value in environment.items():
            here.setenv(name, str(value))
        load(QueuePoolSettings).pool_config()
        return load(OWN[process])


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """Return a text of compose.yaml with its ${VARIABLES}. Raises KeyError for a missing one."""

    def value(match: re.Match[str]) -> str:
        name, kind, default = match.groups()
        return variables.get(name, default) if kind == "-" else variables[name]

    return _VARIABLE.sub(value, text)


def compose(**variables: str) -> dict[str, Any]:
    """Return compose.yaml as a compose program reads it."""
    text = re.sub(r"^\s*#.*$", "", (DEPLOY / "compose.yaml").read_text(), flags=re.MULTILINE)
    content: dict[str, Any] = yaml.safe_load(interpolated(text, variables))
    return content


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: (name, the rest), with lines joined."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(None, 1)[1].strip()) for line in lines if line.strip()]


def final_stage(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of the stage that becomes the image."""
    found = instructions(path)
    last = max(n for n, (name, _) in enumerate(found) if name == "FROM")
    return found[last + 1 :]


def image_environment() -> dict[str, str]:
    """Return the variables that the image sets."""
    words = [rest for name, rest in final_stage(DEPLOY / "Dockerfile") if name == "ENV"]
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(words)))


def seconds(text: str) -> float:
    """Return a duration as compose writes it: 45s, 1m30s."""
    factor = {"h": 3600, "m": 60, "s": 1}
    found = re.findall(r"(\d+)([hms])", text)
    assert "".join(n + unit for n, unit in found) == text
    return sum(int(n) * factor[unit] for n, unit in found)
