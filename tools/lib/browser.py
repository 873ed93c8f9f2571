"""A real browser for the checks of pages: Debian's Chromium, without a window. It is controlled over a pipe, as a tool for
developers would.
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# The longest wait for anything that the page or a program is about to do, in seconds.
LONGEST_WAIT = 60


def say(words):
    print(f"{time.strftime('%H:%M:%S')}  {words}", flush=True)


def fail(words):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {words}")


class Browser:
    """A Chromium that is controlled over two pipes."""

    def __init__(self, folder):
        to_browser, self.input = os.pipe()
        self.output, from_browser = os.pipe()
        words = [
            "chromium", "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run",
            "--disable-gpu", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--disable-default-apps", "--hide-scrollbars", "--password-store=basic"]
        # The sandbox of Chromium does not start for root.
        if os.getuid() == 0:
            words.append("--no-sandbox")

        def prepare():
            # Chromium reads its commands from 3, and writes the results to 4. Copies above them come first, because the
            # ends of the pipes may have these numbers.
            first, second = os.dup(to_browser), os.dup(from_browser)
            high_first = max(first, second, 10) + 1
            os.dup2(first, high_first)
            os.dup2(second, high_first + 1)
            os.dup2(high_first, 3)
            os.dup2(high_first + 1, 4)

        self.log = open(f"{folder}.log", "wb")
        # pylint: disable=subprocess-popen-preexec-fn
        self.process = subprocess.Popen(
            words, preexec_fn=prepare, close_fds=False, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.results = {}
        self.events = []
        self.arrived = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        rest = b""
        while piece := os.read(self.output, 1 << 20):
            *messages, rest = (rest + piece).split(b"\0")
            with self.arrived:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self.results[message["id"]] = message
                    else:
                        self.events.append(message)
                self.arrived.notify_all()

    def call(self, method, session=None, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        with self.arrived:
            if not self.arrived.wait_for(lambda: number in self.results, LONGEST_WAIT):
                fail(f"the browser does not answer {method}")
            result = self.results.pop(number)
        if "error" in result:
            fail(f"{method}: {result['error']}")
        return result["result"]

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()


class Page:
    """A tab of the browser."""

    def __init__(self, browser):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, script):
        """Returns the value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            fail(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, address):
        self.call("Page.navigate", url=address)

    def wait(self, script, words):
        """Waits until an expression in the page is true."""
        end = time.monotonic() + LONGEST_WAIT
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > end:
                fail(f"the page does not show {words}: {self.text()}")
            time.sleep(0.05)

    def text(self):
        return self.run("document.body.innerText")

    def sees(self, text, place="main"):
        self.wait(f"document.querySelector({json.dumps(place)})?.innerText.includes({json.dumps(text)})", f"'{text}'")

    def lacks(self, text, place="main"):
        self.wait(
            f"!document.querySelector({json.dumps(place)}).innerText.includes({json.dumps(text)})", f"less: no '{text}'")

    def click(self, selector, text=None):
        found = f"[...document.querySelectorAll({json.dumps(selector)})]"
        if text is not None:
            found += f".filter(each => each.innerText.includes({json.dumps(text)}))"
        self.wait(f"{found}.length", f"{selector} {text or ''}")
        self.run(f"{found}[0].click()")

    def type(self, selector, text):
        """Replaces the text of a field, as the keyboard does."""
        self.wait(f"document.querySelector({json.dumps(selector)})", selector)
        self.run(f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.focus(); field.select(); }})()")
        self.call("Input.insertText", text=text)

    def press(self, key, code, text=None):
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra)

    def look(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def shoot(self, folder, name):
        if folder is None:
            return
        image = self.call("Page.captureScreenshot", format="png")["data"]
        with open(f"{folder}/{name}.png", "wb") as file:
            file.write(base64.b64decode(image))

    def problems(self):
        """Returns the errors that the browser has logged, and the addresses of requests to other places."""
        found = []
        with self.browser.arrived:
            for event in self.browser.events:
                if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                    found.append(event["params"]["entry"]["text"])
                if event["method"] == "Runtime.exceptionThrown":
                    found.append(json.dumps(event["params"]["exceptionDetails"]))
        return found

    def requests(self):
        with self.browser.arrived:
            return [
                event["params"]["request"]["url"] for event in self.browser.events
                if event["method"] == "Network.requestWillBeSent"]


def require_only_own_requests(page, address):
    """Fails if the page has loaded anything from elsewhere."""
    origin = address.split("/#")[0]
    others = [each for each in page.requests() if not each.startswith(f"{origin}/") and each != "about:blank"]
    if others:
        fail(f"the page has loaded from elsewhere: {others}")


def require_fitting(page, name, width):
    """Fails if the page is wider than the screen, so that it scrolls sideways."""
    wide = page.run("document.documentElement.scrollWidth")
    if wide > width:
        fail(f"{name} is {wide} pixels wide on a screen of {width}")


def require_clean_end(page, address, program, inspect, ignoring="never logged"):
    """Checks what the browser has requested and logged, and that Ctrl-C ends the program that serves the page.

    Messages with the text `ignoring` are expected.
    """
    require_only_own_requests(page, address)
    errors = [each for each in page.problems() if ignoring not in each]
    if errors:
        fail(f"the browser has logged errors: {errors}")
    say("Ctrl-C")
    inspect.send_signal(signal.SIGINT)
    if inspect.wait(LONGEST_WAIT) != 0:
        fail(f"{program} inspect ended with {inspect.returncode}")
    page.sees("does not respond", "#banner")
    say("everything was as expected")


def end_all(browser, processes):
    """Ends the browser, if it has started, and the processes, the last one first."""
    if browser:
        browser.end()
    for process in reversed(processes):
        process.kill()
        process.wait()


def run_check(check, prefix):
    """Calls check with the folder of the programs, a new folder, and the folder for screenshots, from the command line."""
    if len(sys.argv) not in (2, 3):
        fail("expected the folder of the programs, and perhaps a folder for screenshots")
    folder = tempfile.mkdtemp(prefix=prefix)
    try:
        check(os.path.abspath(sys.argv[1]), folder, sys.argv[2] if len(sys.argv) == 3 else None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Device:
    def __init__(self, programs, folder, name, server, token):
        self.programs = programs
        self.store = f"{folder}/{name}"
        self.options = ["--store", self.store, "--server", server, "--token-file", token]
        self.environment = {"HOME": folder, "PATH": os.environ["PATH"]}

    def run(self, *words, status=0):
        done = subprocess.run(
            [f"{self.programs}/syncctl", *words, *self.options], env=self.environment, capture_output=True, text=True,
            timeout=LONGEST_WAIT)
        if done.returncode != status:
            fail(f"syncctl {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def start(self, *words):
        return subprocess.Popen(
            [f"{self.programs}/syncctl", *words, *self.options], env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
