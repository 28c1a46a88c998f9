"""An application on SQLite: an order and its job in one transaction, a third of them rolled back.

Run: `python -m tests.integration.client.outbox.shop FILE FIRST COUNT`. Started again after a kill,
it goes on where it was.
"""

from __future__ import annotations

import sqlite3
import sys

from queuepool import Outbox, QueuePool


def main(path: str, first: int, count: int) -> None:
    """Make the orders of these numbers that are not there."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    with QueuePool.from_env() as pool:
        outbox = Outbox(pool)
        for number in range(first, first + count):
            connection.execute("BEGIN IMMEDIATE")
            known = connection.execute("SELECT 1 FROM orders WHERE number = ?", (number,))
            if known.fetchone() is None:
                connection.execute("INSERT INTO orders VALUES (?)", (number,))
                connection.execute("SAVEPOINT second")  # of which the order is to have no job
                outbox.add(connection, "ship", {"order": number}, partition_key="never")
                connection.execute("ROLLBACK TO second")
                outbox.add(
                    connection, "ship", {"order": number}, partition_key=f"k{number % 50}",
                    job_id=f"order-{number}",
                )  # fmt: skip
            connection.execute("ROLLBACK" if number % 3 == 0 else "COMMIT")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
