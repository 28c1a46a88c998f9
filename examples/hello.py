# hello.py
from queuepool import QueuePool, task


@task
def greet(name: str) -> str:
    return f"hello {name}"


if __name__ == "__main__":
    pool = QueuePool.from_env()
    job = pool.enqueue(greet.job(name="Ada"), partition_key="welcome-1")
    print(job.result(timeout_s=10))
