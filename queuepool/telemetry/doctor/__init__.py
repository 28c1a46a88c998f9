"""The doctor: what is wrong with a queue, from what was observed of it. Pure.

    Observed --rules, one small function a kind of finding--> suspicions
             --Watch: since when, for long enough?----------> Verdict

`observed` says what is looked at; `past` keeps what needs a look back; `queuepool.client.checkup`
reads everything from the servers.
"""

from queuepool.telemetry.doctor.observed import Observed, Past, Place
from queuepool.telemetry.doctor.verdict import Watch, changes, judge

__all__ = ["Observed", "Past", "Place", "Watch", "changes", "judge"]
