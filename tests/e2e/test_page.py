"""The page beside a real cluster: `queuepool up` runs it, and prints how to sign in."""

import json
import re
import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.e2e.clusters import up
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.server]
_TASKS = "from queuepool import task\n@task\ndef nothing() -> None: ...\n"


def test_up_runs_the_page_and_its_link_signs_in(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(_TASKS)

    with up(
        tmp_path, "--app", "app", "--partitions", "2", "--web", QUEUEPOOL_WEB_PORT="0"
    ) as cluster:
        link = cluster.run("web", "--link").out.strip()
        address, token = link.split("login#token=")
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

        form = browser.open(f"{address}login", timeout=60).read().decode()
        mark = re.search(r'name="_form" value="([0-9a-f]+)"', form)
        assert mark is not None
        sent = urlencode({"token": token, "_form": mark[1]}).encode()
        browser.open(f"{address}login", sent, timeout=60)

        def overview() -> str:
            return str(browser.open(address, timeout=60).read().decode())

        wait_until(lambda: "2 partitions on 1 server" in overview(), message="it knows the queue")
        events = browser.open(f"{address}live", timeout=60)
        lines = (events.readline().decode() for _ in range(10))
        update = json.loads(next(line for line in lines if line.startswith("data:"))[5:])
        events.close()
        assert update["t-backlog"] == "0"
        assert address in cluster.shown
        assert token not in cluster.shown  # its output is no terminal

    with pytest.raises(urllib.error.URLError):
        browser.open(address, timeout=2)
