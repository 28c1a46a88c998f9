"""A headless Chromium as a person uses it, and what it says about a page."""

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.paths import ROOT
from tests.waiting import wait_until

AXE_VERSION = "4.14.1"
AXE = ROOT / "build" / f"axe-{AXE_VERSION}.min.js"
_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    *("--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"),
)
_AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(found => done(found.violations
  .filter(one => one.impact === 'serious' || one.impact === 'critical')
  .map(one => one.id + ': ' + one.nodes.slice(0, 3).map(node => node.html).join(' | '))));
"""


def has_chromium() -> bool:
    """Return whether Chromium and its driver are there."""
    return bool(_chromium()) and bool(shutil.which("chromedriver"))


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


class Chromium:
    """One browser with its own cookies."""

    def __init__(self, address: str) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        for argument in _ARGUMENTS:
            options.add_argument(argument)
        options.binary_location = _chromium() or ""
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(shutil.which("chromedriver") or "")
        self.driver: Any = webdriver.Chrome(service=service, options=options)
        self.address = address.rstrip("/")
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        self.look()

    def look(self, width: int = 1600, *, dark: bool = False, height: int = 1000) -> None:
        """Change the window and the theme that the system prefers."""
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._cdp("Emulation.setEmulatedMedia", features=[theme])
        self._cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def _cdp(self, command: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, arguments)

    def without_scripts(self) -> None:
        """Load pages from now on as a browser without JavaScript does."""
        self._cdp("Emulation.setScriptExecutionDisabled", value=True)

    def open(self, path: str) -> None:
        """Load a page of ours."""
        self.driver.get(path if "://" in path else self.address + path)

    def sign_in(self, link: str) -> None:
        """Follow the link that `queuepool web --link` prints."""
        self.driver.get(link)
        self.until(lambda: self.has("nav"), "signed in")

    @property
    def path(self) -> str:
        """Return where the browser is."""
        parts = urlsplit(self.driver.current_url)
        return str(parts.path + (f"?{parts.query}" if parts.query else ""))

    def find(self, selector: str) -> Any:
        """Return the first visible element."""
        found = self.driver.find_elements("css selector", selector)
        return next((one for one in found if one.is_displayed()), None) or found[0]

    def has(self, selector: str) -> bool:
        """Return whether an element is there."""
        return bool(self.driver.find_elements("css selector", selector))

    def text(self, selector: str = "main") -> str:
        """Return what is read in an element."""
        return str(self.driver.find_element("css selector", selector).text)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def focused(self) -> Any:
        """Return the element that has the focus."""
        return self.driver.switch_to.active_element

    def act(self, label: str, **fields: str) -> str:
        """Open an act by its label, fill it in, do it; returns what the page then tells."""
        before = self.driver.find_element("tag name", "html")
        self._summary(label).click()
        for name, value in fields.items():
            field = self.find(f"details[open] [name='{name}']")
            if field.tag_name == "select":
                field.find_element("css selector", f"option[value='{value}']").click()
            else:
                field.clear()
                field.send_keys(value)
        self.find("details[open] form button").click()
        return self.after(before)

    def push(self, selector: str) -> str:
        """Push a button of a form; returns what the page then tells."""
        before = self.driver.find_element("tag name", "html")
        self.find(selector).click()
        return self.after(before)

    def after(self, before: Any) -> str:
        """Wait for the page that follows; returns its note."""
        from selenium.common.exceptions import WebDriverException

        def is_gone() -> bool:
            try:
                before.is_enabled()
            except WebDriverException:
                return bool(self.driver.execute_script("return document.readyState") == "complete")
            return False

        self.until(is_gone, "the next page is there")
        return self.text(".note") if self.has(".note") else ""

    def _summary(self, label: str) -> Any:
        found = self.driver.find_elements("css selector", "details.act > summary")
        return next(one for one in found if one.text == label)

    def until(self, is_so: Callable[[], bool], what: str, timeout_s: float = 20.0) -> None:
        """Wait until something is so."""
        wait_until(is_so, timeout_s, what)

    def accessibility(self) -> list[str]:
        """Return what axe finds that is serious."""
        if not AXE.exists():
            return []
        self.driver.execute_script(AXE.read_text())
        return [str(one) for one in self.driver.execute_async_script(_AXE)]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return int(self.driver.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        ))  # fmt: skip

    def collect(self) -> None:
        """Note what the console complained of, and which hosts were asked."""
        self.complaints += [one["message"] for one in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.hosts.add(urlsplit(message["params"]["request"]["url"]).netloc)

    def picture(self, path: Path) -> None:
        """Write what the window shows."""
        shot = self._cdp("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """End the browser."""
        self.driver.quit()
