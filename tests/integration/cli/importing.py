"""Queues of other libraries, and imports from them that end early."""

import base64
import json
from pathlib import Path
from typing import Any

import redis

from queuepool import QueuePool
from queuepool.cli.imports.naming import Naming
from queuepool.protocol import codec

QUEUES = Path(__file__).with_name("queues")
RECORDED_S = 1_795_434_760
MOVE = ("import", "celery", "--same-names", "--key", "moved", "--json", "--move")


class Killed(BaseException):
    """The import ends here."""


class Elsewhere:
    """The server of the other queue: another database of the shared server."""

    def __init__(self, url: str) -> None:
        self.url = url.removesuffix("/0") + "/1"
        self.redis: Any = redis.Redis.from_url(self.url)

    def load(self, kind: str) -> None:
        """Store what the library stored."""
        for key, stored in json.loads((QUEUES / f"{kind}.json").read_text()).items():
            values = [raw(v) if stored["type"] != "string" else v for v in stored["value"]]
            if stored["type"] == "list":
                self.redis.rpush(key, *values)
            elif stored["type"] == "set":
                self.redis.sadd(key, *values)
            elif stored["type"] == "zset":
                self.redis.zadd(key, dict(values))
            elif stored["type"] == "hash":
                self.redis.hset(key, mapping=dict(values))
            else:
                self.redis.set(key, raw(stored["value"]))

    def contents(self) -> dict[bytes, bytes]:
        """Return all there is."""
        return {key: self.redis.dump(key) for key in self.redis.scan_iter(count=1000)}


def by_same_names() -> Naming:
    """Return the names of an import without a server."""
    with QueuePool("redis://127.0.0.1:1") as pool:
        return Naming(pool.producer, {}, (), "moved", same_names=True)


def raw(value: Any) -> Any:
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return [raw(part) for part in value] if isinstance(value, list) else value


def moved(pool: QueuePool) -> dict[str, tuple[str, dict[str, Any], int, int | None]]:
    """Return id there -> task, payload, tier and attempts of the jobs that are in."""
    place = pool.group("moved").partition
    server: Any = place.server
    flat = server.ask("HGETALL", place.key + b":j")
    found = {}
    for job_id, body in zip(flat[::2], flat[1::2], strict=True):
        job = codec.decode_envelope(body)
        most = job.options.max_attempts
        found[job_id.decode().split(":")[1]] = (job.task, job.payload, int(body[1:2]), most)
    return found


def celery(number: int, body: str = "[[], {}, {}]", **headers: Any) -> bytes:
    """Return a message as Celery writes it."""
    headers = {"id": f"n{number}", "task": "t", "retries": 0} | headers
    message = {
        "body": base64.b64encode(body.encode()).decode(),
        "content-type": "application/json",
        "headers": headers,
        "properties": {"body_encoding": "base64", "priority": 0},
    }
    return json.dumps(message).encode()
