"""What a command says when a coordinator refuses what it asks for."""

from __future__ import annotations

import grpc
import pytest

from queuepool.cli.exits import CommandError, Exit
from queuepool.cli.inspection.coordinators import translated

WHY = "the limit mail has no rate, and 40 of its jobs wait. " * 8
REMEDY = "Set one with `queuepool limit set`"


class Refused(grpc.RpcError):
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.INVALID_ARGUMENT

    def details(self) -> str:
        return f"{WHY}\n\x1b[2J{REMEDY}"


def test_a_refusal_is_told_with_its_remedy_which_comes_last() -> None:
    with pytest.raises(CommandError) as caught, translated("host:1"):
        raise Refused

    message = str(caught.value)
    assert message.startswith("the coordinator at host:1 refused: the limit mail")
    assert message.endswith(REMEDY)
    assert "\x1b" not in message
    assert caught.value.code is Exit.USAGE
