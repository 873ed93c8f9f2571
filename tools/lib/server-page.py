"""Opens the page of `syncd inspect` in a real browser, and looks at a server as its operator does. See tools/soak inspect.

    server-page.py FOLDER_OF_PROGRAMS [FOLDER_FOR_SCREENSHOTS]
"""

import json
import os
import signal
import subprocess

from browser import LONGEST_WAIT, Browser, Device, Page, end_all, fail, require_clean_end, require_fitting, run_check, say

# More people than one call searches.
PEOPLE = 2_500


def look(page, laptop, operator, users, screenshots):
    page.look(1200, 800, "light")
    page.sees("a server runs", "header")
    page.sees("Overview", "main h2")
    page.sees(f"{PEOPLE + 3:,} records")
    page.shoot(screenshots, "server-overview-light")

    say("a table, its pages, and a search")
    page.click("nav a", "user")
    page.sees("1 to 50")
    page.click(".pager button", "Next")
    page.sees("51 to 100")
    page.click(".pager button", "Previous")
    page.sees("1 to 50")
    page.shoot(screenshots, "server-table-light")
    page.type("input[type=search]", "PERSON 249")
    page.sees("11 records found in 2,503, which are all")
    page.sees("Person 2499")
    page.type("input[type=search]", "no such person")
    page.sees("No user has")
    page.type("input[type=search]", "robb")
    page.sees("1 record found")
    page.shoot(screenshots, "server-search-light")

    say("a record, and the ones that it refers to")
    page.click("tbody a", "Robb Stark")
    page.sees("Referred to by")
    page.sees("Robb Stark", "main h2")
    page.shoot(screenshots, "server-record-light")
    page.click("main a", "avatar")
    page.sees("https://images.example/robb.png")
    page.run(f"location.hash = '#/record/user/{users['Bran Stark']}'")
    page.sees("deleted", "main .head")
    page.sees("Its id and its uid are never used again")
    page.lacks("Bran Stark")
    page.shoot(screenshots, "server-deleted-light")

    say("commits, and their changes, with the keyboard")
    page.click("nav a", "Commits")
    page.sees("change user Written by the phone (username)")
    page.run("document.querySelector('.entry button').focus()")
    page.press("Enter", 13, "\r")
    page.wait("document.querySelector('.entry button').getAttribute('aria-expanded') === 'true'", "the changes")
    page.shoot(screenshots, "server-commits-light")
    page.press("Enter", 13, "\r")
    page.wait("document.querySelector('.entry button').getAttribute('aria-expanded') === 'false'", "no changes")
    say("a commit appears by itself, and the open one stays open")
    page.press("Enter", 13, "\r")
    laptop.run("user", "create", "username=Jon Snow <b>&amp;</b>")
    laptop.run("sync")
    page.sees("create user Jon Snow <b>&amp;</b>")
    page.wait("document.querySelectorAll('.entry button[aria-expanded=true]').length === 1", "the open commit")

    say("conflicts, clients, members, spaces")
    page.click("nav a", "Conflicts")
    page.sees("Written by the laptop")
    page.sees("Written by the phone")
    page.shoot(screenshots, "server-conflicts-light")
    page.click("nav a", "Clients")
    page.sees("incarnation")
    page.sees("ned")
    page.click("nav a", "Members")
    page.sees("default has no members: open to every account")
    operator("space", "set", "team_7", "arya", "reader")
    page.click("nav a", "Spaces")
    page.sees("team_7")
    page.type("input[type=search]", "team")
    page.lacks("default", "main table")
    page.click("tbody a", "team_7")
    page.sees("There is no user in team_7")
    page.click("nav a", "Members")
    page.sees("arya")
    page.click("nav a", "Overview")
    page.sees("Space team_7")


def shoot_all(page, users, screenshots):
    for name, place, text in (
            ("overview", "overview", "Database"), ("spaces", "spaces", "team_7"), ("clients", "clients", "ned"),
            ("table", "in/default/list/user", "1 to 50"), ("record", f"record/user/{users['Robb Stark']}", "Referred to by"),
            ("commits", "in/default/commits", "create user"), ("conflicts", "in/default/conflicts", "Written by the phone"),
            ("members", "in/team_7/members", "arya")):
        for width, scheme in ((1200, "dark"), (390, "light"), (390, "dark")):
            page.look(width, 800, scheme)
            page.run("location.hash = '#/overview'")
            page.sees("Overview", "main h2")
            page.run(f"location.hash = '#/{place}'")
            if name in ("table", "spaces"):
                page.type("input[type=search]", "")
            page.sees(text)
            page.wait("document.fonts.status === 'loaded'", "its fonts")
            require_fitting(page, name, width)
            page.shoot(screenshots, f"server-{name}-{scheme}-{width}")


def check(programs, folder, screenshots):
    environment = {"HOME": folder, "PATH": os.environ["PATH"]}
    running = []
    browser = None

    def operator(*words):
        subprocess.run([f"{programs}/syncd", *words], env=environment, check=True, stdout=subprocess.DEVNULL)

    def start(*words):
        process = subprocess.Popen([f"{programs}/syncd", *words], env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        running.append(process)
        return process, process.stdout.readline().split()[-1]

    try:
        token = f"{folder}/token"
        operator("token", "add", "ned", "--output", token)
        server, url = start("--port", "0")
        laptop, phone = (Device(programs, folder, name, url, token) for name in ("laptop", "phone"))
        laptop.run("init")
        phone.run("init")
        names = ["Ned Stark", "Robb Stark", "Bran Stark", *(f"Person {number}" for number in range(1, PEOPLE + 1))]
        with open(f"{folder}/people.csv", "w", encoding="utf-8") as file:
            file.write("\n".join(["key,username", *(f"key{number},{name}" for number, name in enumerate(names)), ""]))
        laptop.run("import", "--csv", f"{folder}/people.csv")
        laptop.run("avatar", "create", "author=Robb Stark", "image_url=https://images.example/robb.png")
        laptop.run("sync")
        phone.run("sync")
        users = {name: json.loads(laptop.run("user", "show", name, "--json"))["id"] for name in ("Robb Stark", "Bran Stark")}
        laptop.run("user", "delete", "Bran Stark")
        # Both devices change one name, so that one value loses.
        laptop.run("user", "set", "Person 7", "username=Written by the laptop")
        phone.run("user", "set", "Person 7", "username=Written by the phone")
        laptop.run("sync")
        phone.run("sync", status=6)
        laptop.run("user", "create", "username=Rickon Stark")
        laptop.run("sync", status=6)
        inspect, address = start("inspect")
        browser = Browser(f"{folder}/browser")
        page = Page(browser)
        say("the page without its secret")
        page.open(address.split("#")[0])
        page.sees("this address has no secret", "#banner")
        say("the page, beside a server")
        page.open("about:blank")
        page.open(address)
        look(page, laptop, operator, users, screenshots)
        say("every part, in both color schemes, and on a narrow screen")
        shoot_all(page, users, screenshots)
        say("the server stops, and starts again")
        server.send_signal(signal.SIGTERM)
        if server.wait(LONGEST_WAIT) != 0:
            fail(f"syncd ended with {server.returncode}")
        page.sees("no server runs", "header")
        start("--port", "0")
        page.sees("a server runs", "header")
        require_clean_end(page, address, "syncd", inspect)
    finally:
        end_all(browser, running)


run_check(check, "tombolo-server-page-")
