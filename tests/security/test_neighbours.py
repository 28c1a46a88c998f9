"""Each cell of the table of docs/security.md about other users of the machine, tried on `up`."""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.e2e.clusters import LocalUp, up
from tests.paths import ROOT
from tests.security.stolen.neighbours import ATTEMPTS, NEIGHBOUR, Attempt

pytestmark = [pytest.mark.xdist_group("security-cluster"), pytest.mark.timeout(240)]

APP = ROOT / "tests" / "e2e" / "app.py"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalUp]:
    directory = tmp_path_factory.mktemp("neighbours")
    shutil.copy(APP, directory)
    with up(directory, "--app", "app", "--partitions", "2") as running:
        yield running


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_another_user_of_the_machine_gets_no_further(cluster: LocalUp, attempt: Attempt) -> None:
    if attempt.as_other and os.geteuid() != 0:
        pytest.skip("only root can act as another user")

    assert attempt.done(cluster) == (NEIGHBOUR in attempt.may)
