"""The bulk example in containers: each row of a file becomes a row of a database on a volume.

A job may run twice, so its id is the primary key.
"""

import os
import sqlite3
import threading
from contextlib import suppress

from queuepool import JobContext, task

db = sqlite3.connect(
    os.environ.get("ROWS_DATABASE", "/data/rows.sqlite"),
    timeout=60,
    check_same_thread=False,
    isolation_level=None,
)
with suppress(sqlite3.OperationalError):  # another process is switching the mode
    db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = NORMAL")
db.execute("CREATE TABLE IF NOT EXISTS rows (job PRIMARY KEY, id, name, city)")
writing = threading.Lock()


@task
def write_row(ctx: JobContext, id: str, name: str, city: str) -> None:
    with writing:
        db.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?)", (ctx.job_id, id, name, city))
