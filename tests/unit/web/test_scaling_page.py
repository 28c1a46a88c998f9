"""The page on scaling changes what its reader saw, of the pool that its reader saw."""

from __future__ import annotations

import re
from typing import Any

from tests.unit.web.conftest import Browser, Site


def limits_form(text: str) -> dict[str, str]:
    """Return the fields of the form of limits, as a browser would send them."""
    [form] = [one for one in text.split("<form")[1:] if 'name="min_workers"' in one]
    fields = re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"', form.split("</form>")[0])
    return {name: value for name, value in fields if name != "_form"}


def asked(site: Site) -> Any:
    return dict(site.coordinator.asked)["SetPolicy"]


def test_limits_are_set_only_if_they_are_still_those_that_were_shown(
    site: Site, operator: Browser
) -> None:
    """Else a page that was opened before somebody set a budget would remove it."""
    shown = limits_form(operator.text("/scaling"))
    operator.post("/scaling/set", page="/scaling", **{**shown, "max_workers": "64"})

    assert asked(site).version == 4
    assert dict(asked(site).changes) == {"min_workers": "", "max_workers": "64", "budget": ""}


def test_after_an_act_the_page_of_the_same_pool_is_shown(site: Site, operator: Browser) -> None:
    done = operator.post("/scaling/set", page="/scaling", mode="hold", pool="video")
    plain = operator.post("/scaling/set", page="/scaling", mode="hold", pool="")

    assert done.headers["location"] == "/scaling?pool=video"
    assert plain.headers["location"] == "/scaling"
