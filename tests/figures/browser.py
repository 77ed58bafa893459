"""Chromium without a window, told by its DevTools protocol what to do: one process, many pages."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ..analysis.inside import BROWSERS

BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
WITHOUT_BROWSER = f"needs a browser: one of {', '.join(BROWSERS)}"
SECONDS = 60


class Tab:
    """A page in the browser."""

    def __init__(self, to_browser: Any, from_browser: Any) -> None:
        self._to, self._from, self._ids, self._session = to_browser, from_browser, count(1), ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._call("Page.enable")

    def show(self, html: str, width: int) -> None:
        """Show a page in a window of a width, and as high as the page."""
        for height in (100, None):
            size = height or self.run("document.documentElement.scrollHeight")
            self._call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=size,
                deviceScaleFactor=1,
                mobile=False,
            )
            if height is not None:
                frame = self._call("Page.getFrameTree")["frameTree"]["frame"]["id"]
                self._call("Page.setDocumentContent", frameId=frame, html=html)

    def run(self, script: str) -> Any:
        """The value of JavaScript, also that of a promise."""
        found = self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self) -> bytes:
        """The window, as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while True:
            answer = json.loads(_until_zero(self._from))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]


def _until_zero(stream: Any) -> bytes:
    """One message: all bytes up to the next that is 0."""
    parts = []
    while (part := stream.read(1)) not in (b"\0", b""):
        parts.append(part)
    assert part, "the browser has stopped"
    return b"".join(parts)


@contextmanager
def browsing(profile: Path) -> Iterator[Tab]:
    """Start the browser, with its files in a new folder."""
    assert BROWSER is not None, WITHOUT_BROWSER
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()

    def connect() -> None:  # the browser reads from 3 and writes to 4
        os.dup2(in_read, 3)
        os.dup2(out_write, 4)

    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    process = subprocess.Popen(
        [BROWSER, *options, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
        preexec_fn=connect,
        pass_fds=(3, 4),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(in_read)
    os.close(out_write)
    try:
        with os.fdopen(in_write, "wb") as to_browser, os.fdopen(out_read, "rb") as from_browser:
            yield Tab(to_browser, from_browser)
    finally:
        process.terminate()
        process.wait(SECONDS)
