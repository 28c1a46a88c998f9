"""Tasks of the cluster that the browser looks at."""

import threading

from queuepool import task

_pause = threading.Event()


@task(max_attempts=1)
def send(to: str, seconds: float = 0.0, password: str = "", fail: bool = False) -> str:
    _pause.wait(seconds)
    if fail:
        raise ValueError(f"no mailbox of <b>{to}</b>")
    return f"sent to {to}"
