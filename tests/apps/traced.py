"""Tasks whose jobs enqueue others, in the pool that their process is configured for."""

from __future__ import annotations

from queuepool import Backoff, JobContext, QueuePool, task


@task(max_attempts=2, backoff=Backoff(base_s=0.01))
def resize(ctx: JobContext, photo: int) -> str:
    if photo == 0 and ctx.attempt == 1:
        raise ConnectionError("of the first attempt")
    return f"small-{photo}"


@task
def publish(ctx: JobContext, album: int) -> int:
    with QueuePool.from_env() as pool:
        pool.enqueue("tell", {"album": album}, partition_key=f"album-{album}")
    return len(list(ctx.results()))


@task(pool="cpu")
async def tell(album: int) -> int:
    return album
