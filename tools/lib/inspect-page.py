"""Opens the page of `syncctl inspect` in a real browser, and uses it as a person does. See tools/soak inspect.

    inspect-page.py FOLDER_OF_PROGRAMS [FOLDER_FOR_SCREENSHOTS]
"""

import json
import os
import subprocess
import time

from browser import LONGEST_WAIT, Browser, Device, Page, end_all, fail, require_clean_end, require_fitting, run_check, say


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
            require_fitting(page, name, width)
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
        # A field with a problem is answered with status 422, which the browser logs.
        require_clean_end(page, address, "syncctl", inspect, ignoring="422")
    finally:
        end_all(browser, running)


run_check(check, "tombolo-inspect-page-")
