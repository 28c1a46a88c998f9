"""Tasks that handle secrets, for tests of what leaks; `blab` leaks on purpose."""

import logging
import os
from typing import Any

from queuepool import JobContext, PermanentError, task
from queuepool.tasks.backoff import Backoff
from tests.apps import SECRETS

_SOON = Backoff(base_s=0.01, cap_s=0.02, floor_s=0.0)


def _secret(kind: str) -> str:
    return os.environ[f"{SECRETS}_{kind.upper()}"]


@task(name="keep")
def keep(ctx: JobContext, secret: str) -> dict[str, str]:
    """Return a secret as the result."""
    ctx.progress("half-way")
    assert secret
    return {"answer": _secret("result")}


@task(name="fail", max_attempts=2, backoff=_SOON)
def fail(secret: str) -> None:
    """Raise an error with a secret in its text."""
    assert secret
    raise PermanentError(_secret("error"))


class _Odd:
    """Cannot be a result; its text is a secret."""

    def __repr__(self) -> str:
        return _secret("result")


@task(name="odd", max_attempts=1)
def odd(secret: str) -> Any:
    """Return what cannot be stored."""
    assert secret
    return {"answer": _Odd()}


@task(name="blab")
def blab(secret: str) -> None:
    """Leak the payload into the log."""
    logging.getLogger("tests.blab").warning("working on %s", secret)
