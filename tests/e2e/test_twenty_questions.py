"""The twenty questions of docs/operations.md, asked of a large cluster: right, and within a second.

Eight partitions with 1,000,000 jobs of 100,000 groups, while jobs run, die and wait for a limit.
Each command runs in this process; each page is what a browser loads. `TWENTY_JOBS` sets the size.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode

import pytest

from queuepool import Job, QueuePool, cli
from queuepool.models import Limit, Schedule
from queuepool.settings.environment import load_pool_config
from tests.e2e.clusters import LocalUp, up
from tests.paths import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.serial, pytest.mark.timeout(900)]
JOBS = int(os.environ.get("TWENTY_JOBS", "1000000"))
DEAD, WITHIN_S = 300, 1.0
_APP = '''"""Tasks of the questions."""
import threading
from queuepool import task
_pause = threading.Event()
@task
def work(n: int) -> None:
    _pause.wait(60)
@task(max_attempts=1)
def die(n: int) -> None:
    raise ConnectionError(f"no route to host {n}")
@task(limit="mail")
def mail(n: int) -> None: ...
'''


@dataclass
class Asked:
    """A cluster with answers in it. job_id: of a job that died."""

    cluster: LocalUp
    pool: QueuePool
    browser: urllib.request.OpenerDirector
    address: str
    job_id: str
    fingerprint: str

    def command(self, *words: str) -> tuple[int, str, float]:
        """Return (exit code, output, seconds) of a command, asked in this process."""
        out = io.StringIO()
        with pytest.MonkeyPatch.context() as here, contextlib.redirect_stdout(out):
            for name, value in self.cluster.environment.items():
                here.setenv(name, value)
            here.setenv("COLUMNS", "160")
            here.chdir(self.cluster.directory)
            begun_s = perf_counter()
            code = cli.main(words)
            took_s = perf_counter() - begun_s
        return code, out.getvalue(), took_s

    def page(self, path: str) -> tuple[str, float]:
        """Return (text, seconds) of a page."""
        begun_s = perf_counter()
        text = self.browser.open(self.address + path, timeout=30).read().decode()
        return text, perf_counter() - begun_s


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("questions")
    (folder / "app.py").write_text(_APP)
    settings = {"QUEUEPOOL_WEB_PORT": "0", "CONSUMER_HISTORY_KEEP_BYTES": "1048576"}
    words = ("--app", "app", "--partitions", "8", "--web")
    with up(folder, *words, ready=True, **settings) as cluster:
        here = Path.cwd()
        os.chdir(folder)
        try:
            config = load_pool_config()
        finally:
            os.chdir(here)
        with QueuePool(config=config) as pool:
            job_id, fingerprint = _prepare(pool)
            link = cluster.run("web", "--link").out.strip()
            address, token = link.split("login#token=")
            browser = _signed_in(address, token)
            yield Asked(cluster, pool, browser, address, job_id, fingerprint)


def _prepare(pool: QueuePool) -> tuple[str, str]:
    died = [
        pool.enqueue("die", {"n": n}, partition_key=f"risky-{n % 16}").job_id for n in range(DEAD)
    ]
    wait_until(lambda: pool.inspect.count("dead") == DEAD, 60, "they have died")
    pool.limits.set(Limit("mail", rate=1, per_s=60.0))
    pool.enqueue_many("mail", ({"n": n} for n in range(50)), partition_key="mails")
    pool.schedules.set(Schedule("nightly", "work", {"n": 0}, cron="30 3 * * *"))
    pool.tenant("acme").configure(weight=2)  # those with settings are found wherever their turn is
    albums = [{"n": n} for n in range(JOBS // 50)]
    pool.enqueue_many("work", albums, partition_key="album-7", tenant="acme", results="failures")
    jobs = (Job({"n": n}, partition_key=f"g{n // 10}") for n in range(JOBS))
    pool.enqueue_many("work", jobs, results="failures")
    return died[0], pool.inspect.errors()[0].fingerprint


def _signed_in(address: str, token: str) -> urllib.request.OpenerDirector:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    form = browser.open(f"{address}login", timeout=30).read().decode()
    mark = re.search(r'name="_form" value="([0-9a-f]+)"', form)
    assert mark is not None
    browser.open(f"{address}login", urlencode({"token": token, "_form": mark[1]}).encode())
    return browser


# Command -> what its answer has in it; JOB and ERROR stand for a dead job and its error.
COMMANDS = {
    "doctor": "",  # no problems, or what this machine lacks
    "status": "led by",
    "watch --for 0.1s": "backlog",
    "what-if": "now",
    "why 3": "partition 3",
    "decisions --partition 3": "",
    "what-if --max 64": "64",
    "what-if --limit mail=40/s": "mail",
    "log --since 12h": "leads",
    "log --kind act": "",
    "policy show": "auto",
    "jobs running": "work",
    "job show JOB": "ConnectionError",
    "job history JOB": "dead",
    "group show g77": "g77",
    "errors": "ConnectionError",
    "job find --state dead --since 1h": "risky-",
    "dead digest": f"{DEAD}",
    "dead replay --error ERROR --dry-run": f"{DEAD} would be replayed",
    "limit list": "mail",
    "schedule list": "nightly",
    "tenant show acme": "acme",
    "advise": "",  # nothing is overloaded
    "check": "",
}
PAGES = {
    "": "8 partitions on 1 server",
    "system": "Drain",
    "partition/3": "Why it has its workers",
    "scaling": "In force",
    "log": "leads",
    "job?id=JOB": "ConnectionError",
    "group?key=g77": 'id="s-ready"',
    "groups": "acme",
    "errors": "ConnectionError",
    "find?state=dead&since=1h": "risky-",
    "limits": "mail",
    "schedules": "nightly",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_answers_within_a_second(asked: Asked, command: str) -> None:
    words = command.replace("JOB", asked.job_id).replace("ERROR", asked.fingerprint).split()

    code, text, took_s = asked.command(*words)

    assert COMMANDS[command] in text
    assert code in (0, 1, 5), text
    assert took_s < WITHIN_S, f"{command}: {took_s:.2f} s"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_answers_within_a_second(asked: Asked, path: str) -> None:
    text, took_s = asked.page(path.replace("JOB", asked.job_id))

    assert PAGES[path] in text
    assert took_s < WITHIN_S, f"{path}: {took_s:.2f} s"


def test_every_question_of_the_table_is_asked() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    table = text[text.index("### Twenty questions") : text.index("### The verdict")]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    first_words = {name.split()[0] for name in COMMANDS}

    assert len(rows) == 21
    for row in rows:
        commands, pages = row.split(" | ")[1:3]
        assert pages.strip(" |")
        for command in re.findall(r"`queuepool ([a-z-]+)", commands):
            assert command in first_words or command in ("hold", "release"), command
