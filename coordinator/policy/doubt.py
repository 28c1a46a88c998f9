"""When `sized` tries fewer workers although no step up was a gain. Pure.

Workers behind a hidden limit wait for it, so jobs take long: 64 workers finish 3 jobs of 10 ms a
second, each after 21 s. A burst of long jobs looks like that, and its steps up come too fast to be
judged; steps into jobs of another task cannot be compared; and a limit may appear while many
workers run. Fewer workers tell which it is, see `probe`; if all were needed, that has cost half of
the completions for its time. So it is done once for a backlog in which no step was a gain, and
again if jobs take three times as long as at the gain, and only if the backlog will take many times
as long. If jobs clearly take longer than is usual for their tasks, a limit is likely, and less of a
backlog is enough.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from coordinator.policy.ceiling import Ceiling
from coordinator.policy.gain_check import GainCheckSettings
from coordinator.policy.model import Reading

_SLOWER = 2.0  # times what is usual for their tasks: a limit is likely
_LEAST_LEFT, _LEAST_LEFT_IF_SLOWER = 8.0, 2.0  # times of a probe, for which the backlog lasts
_LEAST_S, _JOBS = 15.0, 2.0  # for which the workers were as many; times of a job, if that is longer
_AGAIN = 3.0  # times as long as when all workers were needed


def doubted(
    ceiling: Ceiling, reading: Reading, slower: float, settings: GainCheckSettings, least: int
) -> Ceiling:
    """Return the state in which half of the workers are tried, or the same one.

    slower: what jobs took, as a multiple of what is usual for their tasks; 0 if that is not known.
    least: the fewest workers that may run.
    """
    window = ceiling.window
    if ceiling.careful or ceiling.before is not None or not settings.enabled:
        return ceiling
    if reading.workers != window.workers or window.finished < settings.min_finished:
        return ceiling
    job_s, fewer = window.lasting_service_s, max(math.ceil(window.workers / 2), least)
    seen_s = max(_LEAST_S, _JOBS * job_s)
    if fewer >= window.workers or window.seconds < seen_s or job_s < _AGAIN * ceiling.needed_s:
        return ceiling
    probe_s = job_s + seen_s  # first, jobs of those that leave end
    left = _LEAST_LEFT if slower < _SLOWER else _LEAST_LEFT_IF_SLOWER
    if reading.backlog < left * probe_s * window.per_s:
        return ceiling
    probe = ceiling.probe.doubt(window, fewer)
    # All of its halves together take less than this.
    return replace(ceiling, probe=probe, workers=fewer, pause_left_s=6 * probe_s, careful=True)
