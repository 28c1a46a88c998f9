"""A page over jobs in memory and a coordinator that a test makes up; browsers without Chromium."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from queuepool.client.pool import QueuePool
from queuepool.testing import MemoryPool
from queuepool.web.assembly import Page, assemble
from queuepool.web.settings import load_settings
from queuepool.web.source import Source
from tests.unit.web.coordinator import FakeCoordinator
from tests.waiting import wait_until

OPERATOR, VIEWER = "operator-token-0001", "viewer-token-000001"
_FORM = re.compile(r'name="_form" value="([0-9a-f]+)"')


class FakeSource(Source):
    """Asks the coordinator of a test."""

    def __init__(self, pool: QueuePool, coordinator: FakeCoordinator) -> None:
        super().__init__(pool)
        self.coordinator = coordinator

    def connect(self) -> Any:
        return self.coordinator

    @property
    def client(self) -> Any:
        return self.coordinator


class Site:
    """The page and what is behind it."""

    def __init__(self, page: Page, pool: MemoryPool, coordinator: FakeCoordinator) -> None:
        self.page, self.pool, self.coordinator = page, pool, coordinator
        self._clients: list[TestClient] = []

    @property
    def desk(self) -> Any:
        return self.page.desk

    def browser(self, token: str = "", **headers: str) -> "Browser":
        """Return a browser, signed in if it has a token."""
        client = TestClient(self.page, base_url="http://localhost:7080", headers=headers)
        self._clients.append(client)
        client.__enter__()
        wait_until(lambda: self.desk.board.look.is_live, message="the first observation")
        browser = Browser(client)
        if token:
            assert browser.post("/login", token=token).status_code == 303
        return browser

    def close(self) -> None:
        self.desk.watcher.stop()
        for client in self._clients:
            client.__exit__()


class Browser:
    """Loads pages and sends forms as a browser does."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def get(self, path: str, **headers: str) -> Any:
        headers = {"accept": "text/html"} | headers
        return self.client.get(path, headers=headers, follow_redirects=False)

    def text(self, path: str) -> str:
        """Return a page that must be there."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text[:2000]
        return unescape(answer.text)

    def post(self, path: str, *, page: str = "/", **fields: str) -> Any:
        """Send a form as it stands on a page."""
        found = _FORM.search(self.get("/login" if path == "/login" else page).text)
        token = found[1] if found else ""
        return self.forge(path, **{"_form": token, **fields})

    def forge(self, path: str, **fields: str) -> Any:
        """Send a form that no page of ours has."""
        return self.client.post(path, data=fields, follow_redirects=False)

    def note(self) -> str:
        """Return what the next page tells of the last act."""
        found = re.search(r'<p class="note[^>]*>(.*?)</p>', self.get("/").text)
        return unescape(found[1]) if found else ""


MakeSite = Callable[..., Site]


@pytest.fixture
def make_site() -> Iterator[MakeSite]:
    made: list[Site] = []

    def make(partitions: int = 4, *, user: Any = None, **given: Any) -> Site:
        pool, coordinator = MemoryPool(partitions), FakeCoordinator(partitions)
        tokens = {"token": f"ada:{OPERATOR}", "viewer_token": f"vera:{VIEWER}"}
        settings = load_settings(tokens | given)
        page = assemble(settings, FakeSource(pool, coordinator), user)
        made.append(Site(page, pool, coordinator))
        return made[-1]

    yield make
    for site in made:
        site.close()


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return make_site()


@pytest.fixture
def operator(site: Site) -> Browser:
    return site.browser(OPERATOR)


@pytest.fixture
def viewer(site: Site) -> Browser:
    return site.browser(VIEWER)
