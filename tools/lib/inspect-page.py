"""Opens the page of `syncctl inspect` in a real browser, and uses it as a person does. See tools/soak inspect.

    inspect-page.py FOLDER_OF_PROGRAMS [FOLDER_FOR_SCREENSHOTS]

The browser is Debian's Chromium, without a window. It is controlled over a pipe, as a tool for developers would.
"""

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
    sys.exit(f"inspect-page: {words}")


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
        import base64
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


def look_offline(page, laptop, address, screenshots):
    """Looks at changes that no server has confirmed, while nothing syncs."""
    page.look(1200, 800, "light")
    page.open(address)
    page.sees("Ned Stark")
    laptop.run("user", "set", "Robb Stark", "username=Robb the Young")
    laptop.run("user", "create", "username=Rickon Stark")
    page.sees("Rickon Stark")
    page.sees("2 pending", "header")
    page.click(".people a", "Robb the Young")
    page.sees("the server has Robb Stark")
    page.shoot(screenshots, "pending-light")
    page.run("location.hash = '#/outbox'")
    page.sees("create user Rickon Stark")
    page.shoot(screenshots, "outbox-light")
    newest = json.loads(laptop.run("outbox", "--json").splitlines()[-1])
    laptop.run("outbox", "cancel", str(newest["entry"]))
    page.lacks("create user Rickon Stark")
    page.run("location.hash = '#/journal'")
    page.sees("cancelled: create user Rickon Stark")
    page.click(".entry button", "Write these values again")
    page.lacks("cancelled: create user Rickon Stark")
    page.run("location.hash = '#/outbox'")
    page.sees("create user Rickon Stark")


def use(page, laptop, phone, address, screenshots):
    page.run("location.hash = '#/users'")
    page.sees("Ned Stark")
    page.sees("in sync", "header")
    assert page.run("location.hash") in ("#/", "#/users"), page.run("location.hash")
    page.shoot(screenshots, "users-light")

    say("search, with the keyboard")
    page.type("input[type=search]", "catelyn")
    page.lacks("Ned Stark")
    page.sees("Catelyn Tully")
    say("a table, its pages, and its order")
    page.click("nav a", "user")
    page.run("location.hash = '#/list/user'")
    page.sees("1 to 50 of")
    page.click(".pager button", "Next")
    page.sees("51 to 100 of")
    page.click(".pager button", "Previous")
    page.sees("1 to 50 of")
    page.click("thead button", "username")
    page.sees("username ↑")
    page.shoot(screenshots, "table-light")
    page.type("input[type=search]", "Ned Stark")
    page.sees("1 to 1 of 1")

    say("an edit, which a problem of a field stops first")
    page.click("tbody a", "Ned Stark")
    page.sees("Sync")
    page.click(".head a", "Edit")
    page.type("#field-username", "")
    page.press("Enter", 13, "\r")
    page.sees("user.username is empty")
    assert page.run("document.querySelector('#field-username').getAttribute('aria-invalid')") == "true"
    page.shoot(screenshots, "problem-light")
    page.type("#field-username", "Eddard Stark")
    page.press("Enter", 13, "\r")
    page.sees("Eddard Stark", "main h2")
    say("the edit arrives on the other device")
    end = time.monotonic() + LONGEST_WAIT
    while "Eddard Stark" not in phone.run("user", "list"):
        if time.monotonic() > end:
            fail("the edit does not arrive on the other device")
        phone.run("sync")
        time.sleep(0.1)
    page.sees("synced")

    say("a write of another process, and one of the other device, appear by themselves")
    page.run("location.hash = '#/list/user'")
    page.type("input[type=search]", "Stranger")
    page.sees("No user here")
    laptop.run("user", "create", "username=Stranger One")
    page.sees("Stranger One")
    phone.run("user", "create", "username=Stranger Two")
    phone.run("sync")
    page.sees("Stranger Two")

    say("a record is created and deleted")
    page.click(".head a", "New user")
    page.type("#field-username", "Jon Snow <b>&amp;</b>")
    page.press("Enter", 13, "\r")
    page.sees("Jon Snow <b>&amp;</b>", "main h2")
    page.click(".head button", "Delete")
    page.sees("Delete Jon Snow", "dialog")
    page.shoot(screenshots, "delete-light")
    page.click("#dialog-confirm")
    page.wait("location.hash === '#/list/user'", "the list")
    page.type("input[type=search]", "Jon Snow")
    page.sees("No user here")

    say("the outbox and the journal")
    laptop.run("avatar", "create", "author=Eddard Stark", "image_url=https://images.example/ned.png")
    page.run("location.hash = '#/journal'")
    page.sees("lost")
    page.sees("Written by the phone")
    page.shoot(screenshots, "journal-light")
    page.run("location.hash = '#/status'")
    page.sees("engine")
    page.shoot(screenshots, "status-light")

    for name, place, text in (
            ("users", "users", "Eddard Stark"), ("table", "list/user", "username"), ("journal", "journal", "kept"),
            ("record", None, "Sync"), ("edit", None, "required"), ("status", "status", "engine")):
        if place is None:
            user = json.loads(laptop.run("user", "show", "Eddard Stark", "--json"))["id"]
            place = f"record/user/{user}" + ("/edit" if name == "edit" else "")
        for width, scheme in ((1200, "dark"), (390, "light"), (390, "dark")):
            page.look(width, 800, scheme)
            page.run(f"location.hash = '#/{place}'")
            if name in ("users", "table"):
                page.sees("Users" if name == "users" else "user", "main h2")
                page.type("input[type=search]", "")
            page.sees(text)
            time.sleep(0.5)
            wide = page.run("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} pixels wide on a screen of {width}"
            page.shoot(screenshots, f"{name}-{scheme}-{width}")


def check(programs, folder, screenshots):
    environment = {"HOME": folder, "PATH": os.environ["PATH"]}
    running = []
    browser = None
    try:
        token = f"{folder}/token"
        subprocess.run([f"{programs}/syncd", "token", "add", "ned", "--output", token], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        server = subprocess.Popen([f"{programs}/syncd", "--port", "0"], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        running.append(server)
        url = server.stdout.readline().split()[-1]
        laptop, phone = (Device(programs, folder, name, url, token) for name in ("laptop", "phone"))
        laptop.run("init")
        phone.run("init")
        people = [f"key{number},Person {number}" for number in range(1, 121)]
        with open(f"{folder}/people.csv", "w", encoding="utf-8") as file:
            file.write("\n".join(["key,username", "ned,Ned Stark", "cat,Catelyn Tully", "robb,Robb Stark", *people, ""]))
        laptop.run("import", "--csv", f"{folder}/people.csv")
        laptop.run("avatar", "create", "author=Robb Stark", "image_url=https://images.example/robb.png")
        image = json.loads(laptop.run("avatar", "list", "--json").splitlines()[0])["id"]
        laptop.run("user", "set", "Robb Stark", f"avatar={image}")
        laptop.run("sync")
        phone.run("sync")
        # Both devices change one name, so that both journals have an entry.
        laptop.run("user", "set", "Person 7", "username=Written by the laptop")
        phone.run("user", "set", "Person 7", "username=Written by the phone")
        laptop.run("sync")
        phone.run("sync", status=6)
        laptop.run("sync", status=6)
        inspect = laptop.start("inspect")
        running.append(inspect)
        address = inspect.stdout.readline().strip()
        browser = Browser(f"{folder}/browser")
        page = Page(browser)
        say("the page without its secret")
        page.open(address.split("#")[0])
        page.sees("this address has no secret", "#banner")
        page.open(address[:-1] + ("0" if address[-1] != "0" else "1"))
        page.sees("does not present the secret", "#banner")
        page.shoot(screenshots, "refused-light")
        # The refusals of the two calls above are errors for the browser.
        with browser.arrived:
            browser.events.clear()
        say("the page")
        page.open("about:blank")
        look_offline(page, laptop, address, screenshots)
        say("the same, beside a sync")
        running.append(laptop.start("sync", "--watch"))
        use(page, laptop, phone, address, screenshots)
        origin = address.split("/#")[0]
        others = [each for each in page.requests() if not each.startswith(f"{origin}/") and each != "about:blank"]
        if others:
            fail(f"the page has loaded from elsewhere: {others}")
        # A field with a problem is answered with status 422, which the browser logs.
        errors = [each for each in page.problems() if "422" not in each]
        if errors:
            fail(f"the browser has logged errors: {errors}")
        say("Ctrl-C")
        inspect.send_signal(signal.SIGINT)
        if inspect.wait(LONGEST_WAIT) != 0:
            fail(f"syncctl inspect ended with {inspect.returncode}")
        page.sees("does not respond", "#banner")
        say("everything was as expected")
    finally:
        if browser:
            browser.end()
        for process in reversed(running):
            process.kill()
            process.wait()


def start():
    if len(sys.argv) not in (2, 3):
        fail("expected the folder of the programs, and perhaps a folder for screenshots")
    folder = tempfile.mkdtemp(prefix="tombolo-inspect-page-")
    try:
        check(os.path.abspath(sys.argv[1]), folder, sys.argv[2] if len(sys.argv) == 3 else None)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


start()
