"""What applications may import, and what stays importable where it stood before 1.0."""

import subprocess
import sys

import queuepool
from queuepool import models, testing
from queuepool.process import embedded
from queuepool.tasks import job


def test_everything_that_the_package_promises_is_there() -> None:
    assert all(hasattr(queuepool, name) for name in queuepool.__all__)
    assert all(hasattr(testing, name) for name in testing.__all__)
    assert embedded.EmbeddedServer.__module__.startswith("queuepool.process.embedded")


def test_the_embedded_server_is_found_where_it_was() -> None:
    script = (
        "from queuepool.embedded import EmbeddedServer; from queuepool import embedded;"
        "from queuepool.process.embedded import EmbeddedServer as here;"
        "assert EmbeddedServer is embedded.EmbeddedServer is here"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_jobs_are_found_where_the_other_types_are() -> None:
    assert models.Job is job.Job
    assert models.Enqueued is job.Enqueued
    assert not hasattr(models, "Nothing")
