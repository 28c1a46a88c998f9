"""What a server refuses becomes one of our errors: try again, or fix something."""

import pytest
import redis
from redis._parsers.base import BaseParser

from queuepool.errors import FencedError, QueuePoolError, ScriptError, UnavailableError
from queuepool.servers import wire
from queuepool.verbs import fenced


def refusal(line: str) -> Exception:
    """Return an error line of a server as the client hands it over."""
    error: Exception = BaseParser.parse_error(line)  # type: ignore[no-untyped-call]
    return error


@pytest.mark.parametrize(
    ("line", "misplaced"),
    [
        ("MOVED 3999 127.0.0.1:6381", True),
        ("ASK 3999 127.0.0.1:6381", True),
        ("READONLY You can't write against a read only replica.", True),
        ("CLUSTERDOWN The cluster is down", True),
        (
            "ERR Script attempted to access a non local key in a cluster node script: f, on @user",
            True,
        ),
        ("ERR Script attempted to execute a command while the cluster is down script: f", True),
        ("MASTERDOWN Link with MASTER is down", True),
        ("TRYAGAIN Multiple keys request during rehashing of slot", False),
        ("LOADING Redis is loading the dataset in memory", False),
        ("BUSY Redis is busy running a script", False),
        ("NOREPLICAS Not enough good replicas to write.", False),
        ("MISCONF Errors writing to the AOF file", False),
        ("OOM command not allowed when used memory > 'maxmemory'.", False),
        ("NOAUTH Authentication required.", False),
    ],
)
def test_a_refusal_that_may_pass_can_be_tried_again(line: str, misplaced: bool) -> None:
    error = wire.translate("server", refusal(line))

    assert isinstance(error, UnavailableError), error
    assert wire.is_misplaced(refusal(line)) is misplaced


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("NOPERM User app has no permissions to run the 'xadd' command", "docs/security.md"),
        ("WRONGTYPE Operation against a key holding the wrong kind of value", "stage or queue"),
        ("ERR user_script:7: attempt to index a nil value", "server's log"),
    ],
)
def test_a_refusal_that_stays_names_its_remedy(line: str, remedy: str) -> None:
    error = wire.translate("server", refusal(line))

    assert isinstance(error, ScriptError)
    assert remedy in str(error)


def test_a_wrong_password_is_told_as_one_and_may_be_right_later() -> None:
    error = wire.translate("h:1", refusal("WRONGPASS invalid username-password pair"))

    assert isinstance(error, UnavailableError)
    assert str(error) == (
        "h:1 rejects the password: invalid username-password pair. "
        "Nothing was written by this attempt. "
        "Set the user and password in QUEUEPOOL_URL or QUEUEPOOL_SERVERS."
    )


def test_a_cluster_that_cannot_be_found_is_unavailable() -> None:
    error: QueuePoolError = wire.translate(
        "cluster", redis.exceptions.RedisClusterException("no reachable node")
    )

    assert isinstance(error, UnavailableError)


@pytest.mark.parametrize(
    ("current", "found", "remedy"),
    [
        (b"8", "epoch 7 was replaced by 8.", "two processes"),
        (b"7", "epoch 7 was released.", "two processes"),
        (b"6", "epoch 7 is ahead of the server's, which is epoch 6.", "lost its latest writes"),
        (b"0", "epoch 7 is ahead of the server's, which is no owner.", "persistence"),
    ],
)
def test_a_fenced_owner_learns_why(current: bytes, found: str, remedy: str) -> None:
    with pytest.raises(FencedError) as refused:
        fenced([b"FENCED", current], "partition 3", 7)

    assert str(refused.value).startswith(f"partition 3: {found} ")
    assert remedy in str(refused.value)
    assert (refused.value.epoch, refused.value.current) == (7, int(current))
