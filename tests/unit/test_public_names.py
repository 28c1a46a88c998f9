"""What applications may import, and what stays importable where it stood before 1.0."""

import queuepool
from queuepool import embedded, models, testing
from queuepool.tasks import job


def test_everything_that_the_package_promises_is_there() -> None:
    assert all(hasattr(queuepool, name) for name in queuepool.__all__)
    assert all(hasattr(testing, name) for name in testing.__all__)
    assert embedded.EmbeddedServer.__module__.startswith("queuepool.embedded")


def test_jobs_are_found_where_the_other_types_are() -> None:
    assert models.Job is job.Job
    assert models.Enqueued is job.Enqueued
    assert not hasattr(models, "Nothing")
