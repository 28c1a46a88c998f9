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
from queuepool.keys import Keyspace
from queuepool.topology import single

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

RELEASE_GONE = """
import shutil, sys
from pathlib import Path
import queuepool
from queuepool import PoolConfig, QueuePool
from queuepool.keys import Keyspace
from queuepool.topology import single

url, stage = sys.argv[1:]
scripts = Path(queuepool.__file__).parent / "scripts"
for file in scripts.rglob("*.lua"):
    file.write_text("return redis.error_reply('of another version')")
shutil.rmtree(scripts)
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
        assert "was not asked, and nothing was written" in line
    assert single.endswith("['rejected']")
    assert bulk.endswith("['rejected', 'rejected', 'rejected']")
    assert twin.endswith("['rejected']")
    assert after == "it went well []"


def test_a_release_that_is_replaced_or_gone_changes_no_process_that_runs(
    redis_url: str, stage: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT, tmp_path / "queuepool", ignore=shutil.ignore_patterns("__pycache__"))

    found = python(RELEASE_GONE, redis_url, stage, path=tmp_path)

    assert found == ["ready 1", "OwnedPartition"]
    assert ROOT.joinpath("scripts", "enqueue.lua").exists()
