"""A process that is cut off from its own files: out of descriptors, or its release is gone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import queuepool

ROOT = Path(queuepool.__file__).parent

OUT_OF_DESCRIPTORS = """
import asyncio, os, resource, sys
from queuepool import AsyncQueuePool, LocalError, PoolConfig, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single

url, stage = sys.argv[1:]
config = PoolConfig(
    topology=single(url, 1), keyspace=Keyspace(stage=stage), retry_for_s=0.0
)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

def exhausted():
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return taken

def failing(act):
    try:
        act()
    except LocalError as error:
        return str(error), [r.status.value for r in error.results or ()]
    return "it went well", []

with QueuePool(config=config) as pool:
    taken = exhausted()
    found = [
        failing(lambda: pool.enqueue("t", {}, partition_key="k")),
        failing(lambda: pool.enqueue_many("t", [{}] * 3, partition_key="k")),
        failing(lambda: pool.partition(0).server.doorbell(b"k")),
    ]
    for descriptor in taken:
        os.close(descriptor)
    found.append(failing(lambda: pool.enqueue("t", {}, partition_key="k")))

async def twin():
    async with AsyncQueuePool(config=config) as pool:
        taken = exhausted()
        try:
            await pool.enqueue("t", {}, partition_key="k")
        except LocalError as error:
            found.append((str(error), [r.status.value for r in error.results]))
        for descriptor in taken:
            os.close(descriptor)
        await pool.enqueue("t", {}, partition_key="k")

asyncio.run(twin())
for text, statuses in found:
    print(text, statuses)
"""

OWNER_OUT_OF_DESCRIPTORS = """
import os, resource, sys, threading
from consumer.core import events
from consumer.loop.lifecycle import Consumer
from consumer.settings import ConsumerSettings
from queuepool import PoolConfig, QueuePool, Registry
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single

url, stage = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
registry, ran = Registry(), threading.Event()

@registry.task(name="t")
def handler():
    ran.set()

refused, owns, told = threading.Event(), threading.Event(), []

def listen(event):
    if isinstance(event, events.TurnFailed):
        told.append(event)
        refused.set()
    if isinstance(event, events.Owns):
        owns.set()

config = PoolConfig(topology=single(url, 1), keyspace=Keyspace(stage=stage), retry_for_s=0.0)
with QueuePool(config=config, registry=registry) as pool:
    pool.enqueue("t", {}, partition_key="k")  # from here on there is a connection
    consumer = Consumer(pool, ConsumerSettings(lease_s=30), registry=registry, listen=listen)
    failed = []

    def run():
        try:
            consumer.run()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        thread.start()
    assert refused.wait(20), failed
    print(type(told[0].error).__name__, told[0].pause_s <= 5, owns.is_set(), ran.is_set())
    while len(told) < 3 and thread.is_alive():
        thread.join(0.05)
    for descriptor in taken:
        os.close(descriptor)
    print(ran.wait(20), failed)
    consumer.stop()
    thread.join(20)
    print(thread.is_alive(), failed, pool.partition(0).observe().owner)
"""

RELEASE_GONE = """
import sys
from pathlib import Path
import queuepool
from queuepool import PoolConfig, QueuePool
from queuepool.protocol.keys import Keyspace
from queuepool.routing.topology import single

url, stage = sys.argv[1:]
scripts = list((Path(queuepool.__file__).parent / "verbs").rglob("*.lua"))
assert len(scripts) > 30
for file in scripts:
    file.write_text("return redis.error_reply('of another version')")
    file.unlink()
config = PoolConfig(topology=single(url, 1), keyspace=Keyspace(stage=stage))
with QueuePool(config=config) as pool:
    job = pool.enqueue("t", {}, partition_key="k")
    print(pool.status(job.job_id, partition_key="k").state, pool.group("k").status().total)
    owned = pool.partition(0).acquire(lease_s=10)
    print(type(owned).__name__)
"""


def python(program: str, *words: str, path: Path | None = None) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_a_descriptor_the_limit_is_named_and_it_passes(redis_url: str, stage: str) -> None:
    single, bulk, bell, after, twin = python(OUT_OF_DESCRIPTORS, redis_url, stage)

    for line in (single, bulk, bell, twin):
        assert "too many open files (its limit is 64): raise the limit" in line
        assert "was not contacted, and nothing was written" in line
    assert single.endswith("['rejected']")
    assert bulk.endswith("['rejected', 'rejected', 'rejected']")
    assert twin.endswith("['rejected']")
    assert after == "it went well []"


def test_an_owner_without_a_descriptor_to_sleep_on_tries_again_until_there_is_one(
    redis_url: str, stage: str
) -> None:
    refused, ran, after = python(OWNER_OUT_OF_DESCRIPTORS, redis_url, stage)

    assert refused == "LocalError True False False"
    assert ran == "True []"
    assert after == "False [] None"


def test_a_release_that_is_replaced_or_gone_changes_no_process_that_runs(
    redis_url: str, stage: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT, tmp_path / "queuepool", ignore=shutil.ignore_patterns("__pycache__"))

    found = python(RELEASE_GONE, redis_url, stage, path=tmp_path)

    assert found == ["ready 1", "OwnedPartition"]
    assert ROOT.joinpath("verbs", "producer", "enqueue.lua").exists()
