"""The work of each row of the benchmarks, for any engine, in turn with the C program.

The module of an engine has a class `Replica` with these methods:

- `create` writes new users, and `edit` sets two fields of users in one transaction;
- `write` sets two fields of one user, durably and tracked, and `read` returns the columns of a user;
- `changes` returns a feed of the local changes after a `cursor`, and `apply` merges a feed of another replica.
"""

import importlib
import pathlib
import shutil
import statistics
import time

import users

EDITED_USERS = 2_000
DEVICES = 10
EDITS = 1_000
BATCH = 100
READS = 50_000


class Benchmark:
    """The work of each row, for any engine with a class `Replica`."""

    def __init__(self, peer, total, rounds, raw, folder, options):
        self.peer = peer
        self.total = total
        self.rounds = rounds
        self.raw = raw
        self.folder = pathlib.Path(folder)
        self.options = options
        self.replica_class = importlib.import_module(peer.module).Replica
        self.opened = 0

    def replica(self):
        """Opens a new replica without users."""
        self.opened += 1
        return self.replica_class(str(self.folder / f"replica-{self.opened}"), **self.options)

    def version(self):
        """Returns the version that the engine reports."""
        self.folder.mkdir()
        replica = self.replica()
        version = replica.version()
        replica.close()
        shutil.rmtree(self.folder)
        return version

    def filled(self, total):
        """Opens a new replica, and writes users into it."""
        replica = self.replica()
        replica.create([users.user(uid) for uid in range(total)])
        return replica

    def first_sync(self, wanted):
        """P1 and P11: all users, from memory into a new store, and its size."""
        source = self.filled(self.total)
        feed = source.changes(None)
        source.close()
        sizes = []

        def basis():
            path = self.folder / "raw-load"
            database = self.raw.open(path)
            cost = cpu_seconds(lambda: self.raw.raw_load(database, self.total, 1_000, 0))
            self.raw.raw_close(database)
            sizes.append([bytes_of(path)])
            return cost

        def theirs():
            target = self.replica()
            cost = cpu_seconds(lambda: target.apply(feed))
            require(target.read(self.total - 1), users.user(self.total - 1))
            path = target.path
            target.close()
            sizes[-1].append(bytes_of(path))
            return cost

        costs = self.alternate(basis, theirs)
        if "P1" in wanted:
            yield self.figure("P1", "first sync from memory into the local store", self.total, "rows", costs)
        if "P11" in wanted:
            yield size_figure(self.total, sizes)

    def write(self):
        """P3: durable writes of two fields with change tracking."""
        replica = self.filled(self.total)
        database = self.raw.filled(self.folder / "raw-writes", self.total)
        count = self.peer.writes
        seeds = iter(range(1, 1_000_000_000, 1_000_003))

        def basis():
            return cpu_seconds(
                lambda: self.raw.raw_write_with_outbox(database, count, 1, self.total, next(seeds)))

        def theirs():
            seed = next(seeds)
            writes = [(uid, f"Renamed {index}", seed + index)
                      for index, uid in enumerate(users.random_uids(count, self.total, seed))]

            def body():
                for uid, name, moment in writes:
                    replica.write(uid, name, moment)

            cost = cpu_seconds(body)
            uid, name, moment = writes[-1]
            require(replica.read(uid)[2], name)
            return cost

        yield self.figure(
            "P3", "durable local write with change tracking, NORMAL", count, "writes", self.alternate(basis, theirs))
        self.raw.raw_close(database)
        replica.close()

    def read(self):
        """P4: point reads of all fields."""
        replica = self.filled(self.total)
        database = self.raw.filled(self.folder / "raw-reads", self.total)
        seeds = iter(range(1, 1_000_000_000, 1_000_003))

        def basis():
            return cpu_seconds(lambda: self.raw.raw_point_reads(database, READS, self.total, next(seeds)))

        def theirs():
            uids = users.random_uids(READS, self.total, next(seeds))

            def body():
                for uid in uids:
                    replica.read(uid)

            require(replica.read(uids[0]), users.user(uids[0]))
            return cpu_seconds(body)

        yield self.figure("P4", "point read by uid", READS, "reads", self.alternate(basis, theirs))
        self.raw.raw_close(database)
        replica.close()

    def delta(self):
        """P5: changes of a tenth of the users, made by one replica and applied by another."""
        source = self.filled(self.total)
        target = self.replica()
        target.apply(source.changes(None))
        database = self.raw.filled(self.folder / "raw-source", self.total)
        # Reads on another connection than it writes, as in our own benchmark.
        reader = self.raw.open(self.folder / "raw-source")
        device = self.raw.filled(self.folder / "raw-target", self.total)
        count = self.total // 10
        stride = self.total // count
        version = 1
        produced, applied = [], []
        for _ in range(self.rounds):
            version += 1
            logged = self.raw.raw_last_change(database)
            self.raw.raw_change(database, count, stride, version)
            cursor = source.cursor()
            names = [(index * stride, f"Renamed {version} {index}", version) for index in range(count)]
            source.edit(names)
            feeds = []
            produced.append((
                cpu_seconds(lambda: self.raw.raw_produce_delta(reader, logged)),
                cpu_seconds(lambda: feeds.append(source.changes(cursor)))))
            applied.append((
                cpu_seconds(lambda: self.raw.raw_apply_delta(device, count, stride, version)),
                cpu_seconds(lambda: target.apply(feeds[0]))))
            require(target.read(names[-1][0])[2], names[-1][1])
        changed = f"{count:,} of {self.total:,} users"
        yield self.figure("P5", "produce a delta", count, "rows", produced, changed)
        yield self.figure("P5", "apply a delta", count, "rows", applied, changed)
        for replica in (source, target):
            replica.close()
        for opened in (database, reader, device):
            self.raw.raw_close(opened)

    def merge(self):
        """P6: edits of ten replicas that have not seen each other's, merged by one, 100 in each transaction."""
        source = self.filled(EDITED_USERS)
        base = source.changes(None)
        hub, mirror, *devices = [self.replica() for _ in range(DEVICES + 2)]
        for replica in (hub, mirror, *devices):
            replica.apply(base)
        database = self.raw.filled(self.folder / "raw-merge", EDITED_USERS)
        costs = []
        for number in range(1, self.rounds + 1):
            feeds = [edits_of(device, index, number) for index, device in enumerate(devices)]
            first = number * 1_000_000

            def basis():
                self.raw.raw_merge(database, DEVICES, EDITS, EDITED_USERS, BATCH, first)

            costs.append((cpu_seconds(basis), cpu_seconds(lambda: apply_all(feeds, hub))))
            apply_all(reversed(feeds), mirror)
        if self.peer.converges:
            for uid in range(EDITED_USERS):
                require(mirror.read(uid), hub.read(uid))
        yield self.figure(
            "P6", f"merge of {DEVICES} replicas with {EDITS:,} edits each", DEVICES * EDITS, "edits", costs,
            f"{EDITED_USERS:,} users")
        for replica in (source, hub, mirror, *devices):
            replica.close()
        self.raw.raw_close(database)

    def alternate(self, basis, theirs):
        """Measures both in turn, so that changes in the machine's load affect both."""
        return [(basis(), theirs()) for _ in range(self.rounds)]

    def figure(self, row, name, units, unit, costs, size=""):
        """Returns the medians of both rates, and of their ratio."""
        return {
            "row": row, "name": name, "size": size or f"{self.total:,} users", "unit": f"{unit}/cpu-s",
            "ours": statistics.median(units / theirs for _, theirs in costs),
            "basis": statistics.median(units / basis for basis, _ in costs),
            "ratio": statistics.median(basis / theirs for basis, theirs in costs),
        }

    def figures(self, rows):
        """Measures the wanted rows, and deletes the databases of each."""
        parts = {
            ("P1", "P11"): lambda: self.first_sync(rows), ("P3",): self.write, ("P4",): self.read, ("P5",): self.delta,
            ("P6",): self.merge,
        }
        for names, measure in parts.items():
            if set(names) & set(rows):
                self.folder.mkdir()
                yield from measure()
                shutil.rmtree(self.folder)


def edits_of(device, index, number):
    """Edits users on one replica, and returns its changes, one feed for each transaction."""
    feeds = []
    seed = (number * DEVICES + index) * 1_000_003
    for batch in users.batches(users.random_uids(EDITS, EDITED_USERS, seed), BATCH):
        cursor = device.cursor()
        device.edit([(uid, f"edit {users.mix(seed + uid):016x} of a value", seed + uid) for uid in batch])
        feeds.append(device.changes(cursor))
    return feeds


def apply_all(feeds_of_devices, replica):
    """Merges the feeds of one device after the other."""
    for feeds in feeds_of_devices:
        for feed in feeds:
            replica.apply(feed)


def size_figure(total, sizes):
    """Returns the bytes of a row in the database file."""
    basis, theirs = sizes[-1]
    return {
        "row": "P11", "name": "a row in the database", "size": f"{total:,} users", "unit": "bytes a row",
        "ours": theirs / total, "basis": basis / total, "ratio": basis / theirs,
    }


def bytes_of(path):
    """Deletes a closed database, and returns how large its files were."""
    path = pathlib.Path(path)
    files = [*path.parent.glob(path.name), *path.parent.glob(f"{path.name}-*")]
    size = sum(file.stat().st_size for file in files)
    for file in files:
        file.unlink()
    return size


def cpu_seconds(body):
    """Returns the CPU time that all threads of this process need for some work."""
    began = time.process_time()
    body()
    return time.process_time() - began


def require(found, expected):
    """Fails if an engine has another value than it must have."""
    if found != expected:
        raise ValueError(f"expected {expected!r}, found {found!r}")
