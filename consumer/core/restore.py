"""How many workers to start with after a restart: the checkpoint, aged.

Used by a consumer that restarts and by a coordinator that takes over, so that both begin
at the same number without asking each other.
"""

import math

_ABSURD_WORKERS = 10**9  # a larger record is damaged, and might not even fit into a float


def restored_workers(
    checkpoint: int | None,
    age_s: float,
    *,
    min_workers: int,
    max_workers: int,
    tau_s: float = 60.0,
) -> int:
    """Return max(min, checkpoint x exp(-age / tau)), at most the maximum, rounded up.

    `checkpoint` is the last applied target and `age_s` its age in seconds. A fresh checkpoint
    keeps a pool that was scaled for a burst; an old one says nothing about the present. Nothing
    raises for a bad record, since a consumer must start: no checkpoint, a negative one or an
    age that is not a number give the minimum, an age below 0 (clocks differ) counts as 0.
    """
    if checkpoint is None or checkpoint <= min_workers or math.isnan(age_s) or tau_s <= 0:
        return min_workers
    aged = min(checkpoint, _ABSURD_WORKERS) * math.exp(-max(age_s, 0.0) / tau_s)
    return max(min_workers, min(math.ceil(aged), max_workers))
