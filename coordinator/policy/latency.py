"""How many workers a wanted wait takes: Little's law, for sizing by hand and for tests."""

import math

from coordinator.policy.model import require


def workers_for_wait(backlog: int, *, service_s: float, wait_s: float) -> int:
    """Return the workers that drain a backlog within `wait_s` at `service_s` per job.

    The work is backlog x service_s seconds; spread over wait_s it needs that many workers:
    10,000 jobs x 2 s / 300 s = 67. (Dividing by service_s instead, as is often copied, says
    17 workers, and those need 20 minutes.)
    """
    require(backlog >= 0, f"backlog={backlog} must not be negative")
    require(service_s >= 0, f"service_s={service_s} must not be negative")
    require(wait_s > 0, f"wait_s={wait_s} must be above 0")
    return math.ceil(backlog * service_s / wait_s)
