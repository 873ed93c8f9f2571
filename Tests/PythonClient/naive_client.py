#!/usr/bin/env python3
"""A second client of the protocol. It is small and slow, and was written only from Schemas/wire.

It shares no code or design with the Swift client. It has no schema and no merge rules, and its store is one JSON file.
If the two clients interpret the protocol differently, either the description or one of them is wrong.

    naive_client.py --state FILE --url URL --token-file FILE COMMAND ...

    create COLLECTION ID FIELD=VALUE...    queues a create; a value '@ID' refers to a record
    update COLLECTION ID FIELD=VALUE...    queues an edit of fields
    delete COLLECTION ID                   queues a delete
    push [--limit N]                       sends one push of the waiting transactions
    pull [--limit N]                       pulls one page
    sync [--limit N]                       pushes and pulls until nothing is left
    rows                                   prints the pulled records, one JSON line each
    status                                 prints the state of the client as one JSON line
    check-examples FOLDER                  checks the hashes of the golden examples; needs no state

Exit status: 0 success, 1 the server or the network failed and a retry may help, 2 the server broke the protocol.
"""

import argparse
import hashlib
import http.client
import json
import os
import secrets
import sys
import time
import urllib.parse
import uuid

SPACE = "default"


class Unreachable(Exception):
    """There was no response, or none that proves the outcome. The request must be repeated later."""


class Broken(Exception):
    """The server violated the description of the protocol."""


def require(condition, what):
    if not condition:
        raise Broken(what)


# --- JSON that keeps the text of every number ---


class Real(float):
    """A number with a fraction or an exponent, with its original text."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def unique(pairs):
    members = dict(pairs)
    require(len(members) == len(pairs), "an object has the same key twice")
    return members


def parse(text):
    try:
        return json.loads(text, parse_float=Real, object_pairs_hook=unique)
    except ValueError as error:
        raise Broken(f"not JSON: {error}") from error


def canonical_real(value):
    """Returns a real as the canonical form has it. Python writes exponents the same way, but later than above 2^53."""
    text = repr(value)
    if not 2**53 < abs(value) < 1e16:
        return text
    digits = text.lstrip("-").split(".")[0]
    mantissa = (digits[0] + "." + digits[1:]).rstrip("0").rstrip(".")
    return ("-" if value < 0 else "") + f"{mantissa}e+{len(digits) - 1}"


def write(value, verbatim=False):
    """Encodes JSON without white space. Reals get their canonical form, or keep their text in `$json` (`verbatim`)."""
    if isinstance(value, Real):
        return value.text if verbatim else canonical_real(float(value))
    if isinstance(value, list):
        return "[" + ",".join(write(item, verbatim) for item in value) + "]"
    if isinstance(value, dict):
        members = (f"{write(key)}:{write(item, verbatim or key == '$json')}" for key, item in value.items())
        return "{" + ",".join(members) + "}"
    return json.dumps(value, ensure_ascii=False)


# --- The canonical form ---


def canonical_value(value):
    if isinstance(value, dict) and "$ref" in value:
        return {"$ref": value["$ref"].lower()}
    return value


def canonical_mutation(mutation):
    form = {"collection": mutation["collection"], "record": mutation["record"].lower(), "time": mutation["time"]}
    if "create" in mutation:
        form["create"] = {name: canonical_value(mutation["create"][name]) for name in sorted(mutation["create"])}
    elif "update" in mutation:
        form["update"] = [
            {
                "field": edit["field"],
                "value": canonical_value(edit["value"]),
                "before": canonical_value(edit["before"]),
                "seen": edit["seen"],
            }
            for edit in mutation["update"]
        ]
    else:
        form["delete"] = {key: mutation["delete"][key] for key in ("seen", "unshown") if key in mutation["delete"]}
    return form


def payload_hash(transaction):
    form = {
        "space": transaction["space"],
        "mutations": [canonical_mutation(mutation) for mutation in transaction["mutations"]],
    }
    return hashlib.sha256(write(form).encode("utf-8")).hexdigest()


# --- The state ---


class State:
    def __init__(self, path):
        self.path = path
        try:
            with open(path, encoding="utf-8") as file:
                self.data = parse(file.read())
        except FileNotFoundError:
            self.data = {
                "client": str(uuid.UUID(int=new_record_id())),
                "incarnation": 0,
                # The number of the next transaction, and the first number whose outcome is unknown.
                "next": 0,
                "acknowledged": 0,
                "epoch": None,
                "account": None,
                "cursor": None,
                "version": 0,
                # The newest receipt of the history.
                "receipt": None,
                # collection -> id -> {uid, version, fields: name -> [value, version]}
                "rows": {},
                # The records of the current snapshot so far, or null if no snapshot is being read.
                "snapshot": None,
                "outbox": [],
                "rejected": [],
                "conflicts": [],
                "last_time": [0, 0],
            }

    def save(self):
        """Saves the state atomically. A client that is killed here repeats its last step."""
        temporary = f"{self.path}.new"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(write(self.data, verbatim=True))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)

    def hybrid_time(self):
        """Returns the time of the wall clock, and a counter that increases while the clock does not advance."""
        milliseconds, counter = self.data["last_time"]
        now = time.time_ns() // 1_000_000
        if now > milliseconds:
            milliseconds, counter = now, 0
        else:
            counter += 1
        self.data["last_time"] = [milliseconds, counter]
        return f"{milliseconds}.{counter}"

    def enqueue(self, mutations):
        transaction = {"space": SPACE, "mutations": mutations}
        number = self.data["next"]
        self.data["next"] = number + 1
        self.data["outbox"].append(
            {"number": number, "hash": payload_hash(transaction), "transaction": transaction}
        )
        self.save()


def new_record_id():
    """Returns a new UUID of version 7 (RFC 9562)."""
    milliseconds = time.time_ns() // 1_000_000
    bits = (milliseconds & (1 << 48) - 1) << 80 | secrets.randbits(80)
    return bits & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62


# --- The wire ---


class Server:
    def __init__(self, url, token_file):
        self.url = urllib.parse.urlsplit(url)
        with open(token_file, encoding="utf-8") as file:
            self.token = file.read().strip()

    def call(self, method, route, body=None):
        request_id = secrets.token_hex(16)
        headers = {"Authorization": f"Bearer {self.token}", "Tombolo-Request": request_id}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = write(body).encode("utf-8")
        # There is no timeout. The caller decides how long to wait.
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port)
        try:
            connection.request(method, f"{self.url.path}/v1/{route}", body=data, headers=headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{route}: {error!r}") from error
        finally:
            connection.close()
        if response.status == 200:
            # A response without this request's id may belong to another request.
            if response.headers.get("Tombolo-Request") != request_id:
                raise Unreachable(f"{route}: a response to another request")
            return parse(text.decode("utf-8"))
        error = parse(text.decode("utf-8"))["error"] if response.headers.get_content_type() == "application/json" else {}
        # An error without this request's id may come from a middlebox, so it is not definite.
        if error.get("request") == request_id and response.status in (400, 403, 413):
            raise Broken(f"{route}: {response.status} {error['code']}: {error['message']}")
        raise Unreachable(f"{route}: {response.status} {error.get('code', '')}")


class Client:
    def __init__(self, state, server):
        self.state = state
        self.data = state.data
        self.server = server

    def hello(self):
        reply = self.server.call("GET", "hello")
        require(reply["protocol"]["from"] <= 1 <= reply["protocol"]["to"], "another protocol")
        self.follow(reply["epoch"])
        require(self.data["account"] in (None, reply["account"]), "the token is of another account")
        self.data["account"] = reply["account"]
        self.state.save()
        return reply

    def follow(self, epoch):
        """Adopts a new history: forgets the position in the old one, and renumbers the unconfirmed transactions."""
        if self.data["epoch"] == epoch:
            return
        if self.data["epoch"] is not None:
            self.data.update(cursor=None, version=0, receipt=None, snapshot=None)
            self.renumber()
        self.data["epoch"] = epoch

    def renumber(self):
        """Starts a new incarnation, whose numbers start at 0."""
        self.data["incarnation"] += 1
        for number, entry in enumerate(self.data["outbox"]):
            entry["number"] = number
        self.data["next"] = len(self.data["outbox"])
        self.data["acknowledged"] = 0

    # Push

    def push(self, limit=256):
        """Sends one push. Returns whether transactions are left to push."""
        if not self.data["outbox"]:
            return False
        hello = self.hello()
        batch = self.data["outbox"][: min(limit, hello["limits"]["pushTransactions"])]
        request = {
            "client": self.data["client"],
            "incarnation": self.data["incarnation"],
            "epoch": self.data["epoch"],
            "account": self.data["account"],
            "acknowledged": self.data["acknowledged"],
            "transactions": batch,
        }
        # A receipt proves more than an older cursor. If a newer cursor is below the horizon, only the receipt proves
        # anything.
        proofs = [] if self.unreached() else [self.data["cursor"]]
        if self.data["receipt"]:
            proofs.append(self.data["receipt"]["cursor"])
        proofs = [proof for proof in proofs if proof is not None]
        if proofs:
            request["cursors"] = proofs
        reply = self.server.call("POST", "push", request)
        if "refused" in reply:
            self.refused(reply["refused"])
            return True
        answered = reply["answered"]
        require(answered["epoch"] == self.data["epoch"], "a push was answered by another history")
        numbers = [entry["number"] for entry in batch]
        results = answered["results"]
        require([result["number"] for result in results] == numbers[: len(results)], "results of other numbers")
        hashes = [entry["hash"] for entry in batch[: len(results)]]
        require([result["hash"] for result in results] == hashes, "results of other transactions")
        require(results, "no result at all")
        for entry, result in zip(batch, results):
            outcome = result["outcome"]
            if "applied" in outcome:
                self.data["conflicts"] += outcome["applied"].get("conflicts", [])
            else:
                self.data["rejected"].append({"entry": entry, "rejection": outcome["rejected"]})
            receipt = result.get("receipt")
            known = self.data["receipt"]["version"] if self.data["receipt"] else 0
            if receipt and receipt["space"] == SPACE and receipt["version"] >= known:
                self.data["receipt"] = receipt
        self.data["outbox"] = self.data["outbox"][len(results) :]
        self.data["acknowledged"] = numbers[len(results) - 1] + 1
        self.state.save()
        return bool(self.data["outbox"])

    def unreached(self):
        """Returns the receipt, unless the cursor has reached its version."""
        receipt = self.data["receipt"]
        if receipt and (self.data["cursor"] is None or receipt["version"] > self.data["version"]):
            return receipt
        return None

    def refused(self, refusal):
        reason = refusal["reason"]
        if reason == "epoch_changed":
            self.follow(refusal["epoch"])
        elif reason == "gap":
            # The server has lost outcomes that it had returned, so a part of its history was lost. Starts again.
            self.renumber()
        elif reason == "identity_conflict":
            # A copy of this state has used the number, so this client gets a new identity.
            self.data["client"] = str(uuid.UUID(int=new_record_id()))
            self.data["incarnation"] = -1
            self.renumber()
        else:
            raise Broken(f"a push is refused for a reason that the description does not name: {reason}")
        self.state.save()

    # Pull

    def pull(self, limit=500):
        """Pulls one page. Returns whether there are more."""
        if self.data["epoch"] is None:
            self.hello()
        request = {"space": SPACE, "limit": limit, "account": self.data["account"]}
        if self.data["cursor"] is not None:
            request["cursor"] = self.data["cursor"]
        receipt = self.data["receipt"]
        if receipt and (self.data["cursor"] is None or receipt["version"] >= self.data["version"]):
            request["receipt"] = receipt["cursor"]
        reply = self.server.call("POST", "pull", request)
        if "mustReset" in reply:
            self.data.update(cursor=None, snapshot=None)
            self.state.save()
            if reply["mustReset"] == "epoch":
                self.hello()
            return True
        if "noAccess" in reply:
            self.data.update(cursor=None, version=0, snapshot=None, rows={})
            self.state.save()
            return False
        page = reply["page"]
        require(page["space"] == SPACE, "a page of another space")
        require(page["epoch"] == self.data["epoch"], "a page of another history")
        before = self.data["cursor"]
        if "snapshot" in page:
            self.read_snapshot(page["snapshot"])
        else:
            self.read_commits(page["commits"], page["version"])
        self.data["cursor"] = page["cursor"]
        self.data["version"] = page["version"]
        require(not page["hasMore"] or page["cursor"] != before, "the page says that there is more, but its cursor has not changed")
        self.state.save()
        return page["hasMore"]

    def read_snapshot(self, snapshot):
        if snapshot["isFirst"]:
            self.data["snapshot"] = {}
        staged = self.data["snapshot"]
        require(staged is not None, "the first page of a snapshot is missing")
        for part in snapshot["collections"]:
            records = staged.setdefault(part["collection"], {})
            for identifier, uid, version, versions, *values in part["rows"]:
                require(len(values) == len(part["columns"]), "a row has another number of values than there are columns")
                versions = versions or [version] * len(values)
                records[identifier] = {
                    "uid": uid,
                    "version": version,
                    "fields": {
                        name: [value, seen] for name, value, seen in zip(part["columns"], values, versions)
                    },
                }
        if snapshot["isLast"]:
            self.data["rows"] = staged
            self.data["snapshot"] = None

    def read_commits(self, commits, end):
        expected = self.data["version"]
        for commit in commits:
            expected += 1
            require(commit["version"] == expected, f"the page has commit {commit['version']}; expected {expected}")
            for change in commit["changes"]:
                self.apply(change, commit["version"])
        require(expected == end, "the page's version is not that of its last commit")

    def apply(self, change, version):
        records = self.data["rows"].setdefault(change["collection"], {})
        if "deleted" in change:
            records.pop(change["id"], None)
            return
        if "created" in change:
            record = records.setdefault(
                change["id"], {"uid": change["uid"], "version": version, "fields": {}}
            )
        else:
            record = records.get(change["id"])
            if record is None:
                # The record was deleted while the snapshot was read, so the snapshot does not contain it.
                return
        record["version"] = max(record["version"], version)
        for name, value in (change.get("created") or change.get("updated")).items():
            # The field in the snapshot may be as new as this change, or newer.
            if name not in record["fields"] or record["fields"][name][1] < version:
                record["fields"][name] = [value, version]

    def sync(self, limit):
        while self.push(limit) or self.pull(limit):
            pass
        # The next pull contains the effect of the push.
        while self.pull(limit):
            pass


# --- Commands ---


def patch(words):
    fields = {}
    for word in words:
        name, mark, text = word.partition("=")
        require(mark, f"FIELD=VALUE expected, not {word}")
        fields[name] = {"$ref": text[1:]} if text.startswith("@") else text
    return fields


def mutation(state, options):
    base = {"collection": options.collection, "record": options.id, "time": state.hybrid_time()}
    record = state.data["rows"].get(options.collection, {}).get(options.id, {"version": 0, "fields": {}})
    if options.command == "create":
        return {**base, "create": patch(options.fields)}
    if options.command == "delete":
        return {**base, "delete": {"seen": record["version"]}}
    edits = []
    for name, value in patch(options.fields).items():
        before, seen = record["fields"].get(name, [None, 0])
        edits.append({"field": name, "value": value, "before": before, "seen": seen})
    return {**base, "update": edits}


def check_examples(folder):
    count = 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            message = parse(file.read())
        for entry in message.get("transactions", []) if isinstance(message, dict) else []:
            found = payload_hash(entry["transaction"])
            require(found == entry["hash"], f"{name}: transaction {entry['number']} has {entry['hash']}, not {found}")
            count += 1
    require(count > 1, f"no transactions in {folder}")
    print(f"all {count} hashes are correct")


def main():
    parser = argparse.ArgumentParser(description="A naive client of the protocol.")
    parser.add_argument("--state")
    parser.add_argument("--url")
    parser.add_argument("--token-file")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("create", "update", "delete"):
        command = commands.add_parser(name)
        command.add_argument("collection")
        command.add_argument("id")
        if name != "delete":
            command.add_argument("fields", nargs="+")
    for name in ("push", "pull", "sync"):
        commands.add_parser(name).add_argument("--limit", type=int, default=200)
    commands.add_parser("rows")
    commands.add_parser("status")
    commands.add_parser("check-examples").add_argument("folder")
    options = parser.parse_args()

    if options.command == "check-examples":
        return check_examples(options.folder)
    state = State(options.state)
    if options.command in ("create", "update", "delete"):
        return state.enqueue([mutation(state, options)])
    if options.command == "rows":
        for collection, records in sorted(state.data["rows"].items()):
            for identifier, record in sorted(records.items()):
                fields = {name: value for name, (value, _) in record["fields"].items() if value is not None}
                line = {"collection": collection, "id": identifier, "uid": record["uid"], "version": record["version"]}
                print(write({**line, "fields": fields}))
        return None
    if options.command == "status":
        kept = ("client", "incarnation", "epoch", "account", "version", "acknowledged", "rejected", "conflicts")
        print(write({**{name: state.data[name] for name in kept}, "waiting": len(state.data["outbox"])}))
        return None
    client = Client(state, Server(options.url, options.token_file))
    if options.command == "sync":
        return client.sync(options.limit)
    has_more = client.push(options.limit) if options.command == "push" else client.pull(options.limit)
    print(write({"hasMore": has_more}))
    return None


if __name__ == "__main__":
    try:
        main()
    except Unreachable as failure:
        sys.exit(f"naive_client: {failure}")
    except Broken as failure:
        print(f"naive_client: {failure}", file=sys.stderr)
        sys.exit(2)
