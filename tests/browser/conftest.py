"""One cluster, and one browser for each role. Collected only by `make test-browser`."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from queuepool import QueuePool
from queuepool.settings.environment import load_pool_config
from tests.browser.tools import Chromium
from tests.e2e.clusters import LocalUp, up
from tests.paths import ROOT

collect_ignore_glob = [] if os.environ.get("BROWSER_TESTS") else ["test_*.py"]
VIEWER = "viewer-token-of-the-browser-tests"


@dataclass
class Live:
    """The cluster, the link that signs an operator in, and the queue."""

    cluster: LocalUp
    link: str
    pool: QueuePool

    @property
    def address(self) -> str:
        return self.link.split("login#")[0]

    def mails(self, key: str, count: int = 1, **more: object) -> list[str]:
        """Enqueue jobs of a group; returns their ids."""
        jobs = ({"to": f"<i>{key}</i> {n}", "password": "hunter2"} | more for n in range(count))
        return [one.job_id for one in self.pool.enqueue_many("send", jobs, partition_key=key)]


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("cluster")
    shutil.copy(ROOT / "tests" / "browser" / "app.py", folder / "app.py")
    words = ("--app", "app", "--partitions", "4", "--web")
    settings = {"QUEUEPOOL_WEB_PORT": "0", "QUEUEPOOL_WEB_VIEWER_TOKEN": f"vera:{VIEWER}"}
    here = Path.cwd()
    with up(folder, *words, ready=True, **settings) as cluster:
        link = cluster.run("web", "--link").out.strip()
        os.chdir(folder)
        try:
            config = load_pool_config()
        finally:
            os.chdir(here)
        with QueuePool(config=config) as pool:
            yield Live(cluster, link, pool)


@pytest.fixture(scope="session")
def _operator(live: Live) -> Iterator[Chromium]:
    chromium = Chromium(live.address)
    chromium.sign_in(live.link)
    yield chromium
    chromium.close()


@pytest.fixture
def operator(_operator: Chromium) -> Iterator[Chromium]:
    """An operator's browser; whatever it did, its console was quiet, and it asked no other host."""
    _operator.look()
    yield _operator
    _operator.collect()
    complaints, _operator.complaints = _operator.complaints, []
    assert complaints == []
    assert _operator.hosts <= {_operator.address.partition("//")[2]}


@pytest.fixture(scope="session")
def viewer(live: Live) -> Iterator[Chromium]:
    chromium = Chromium(live.address)
    chromium.sign_in(f"{live.address}login#token={VIEWER}")
    yield chromium
    chromium.close()
