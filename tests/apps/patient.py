"""Import it in a consumer that stands by: owners that are cut off have long to come back."""

from consumer.core import lifeline

vars(lifeline)["GRACE_S"] = 30.0
