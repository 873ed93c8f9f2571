import CFaultVFS
import SQLiteDatabase
import SyncSimulation
import TestRings
import Testing

@Suite(.ring(.check), .onWorldThreads)
struct SimulatedDiskTests {
    @Test(arguments: BankWorkload.JournalMode.allCases)
    func `a database works and can be opened by the next process`(mode: BankWorkload.JournalMode) throws {
        let bank = BankWorkload(journalMode: mode, synchronous: "FULL")
        let disk = SimulatedDisk(seed: 1)
        var random = SeededRandom(seed: 1)
        for generation in 0..<3 {
            let process = disk.makeProcess()
            do {
                let connection = try bank.open(process)
                #expect(try connection.texts("PRAGMA journal_mode") == [mode.rawValue])
                try bank.create(connection)
                for number in 1...20 {
                    try bank.transfer(number: generation * 20 + number, connection, random: &random)
                }
                #expect(try bank.check(connection) == (generation + 1) * 20)
            }
            #expect(process.openFileCount == 0)
        }
        #expect(disk.count(of: .sync) > 0)
        #expect(disk.faultCount == 0)
    }

    @Test(arguments: BankWorkload.JournalMode.allCases)
    func `with synchronous EXTRA every commit survives any power loss`(mode: BankWorkload.JournalMode) throws {
        let report = try crashes(BankWorkload(journalMode: mode, synchronous: "EXTRA"), seeds: 0..<150)
        #expect(report.lostCommits == 0)
        #expect(report.powerLosses >= 300)
    }

    @Test func `with synchronous FULL every commit to a WAL survives any power loss`() throws {
        let report = try crashes(BankWorkload(journalMode: .wal, synchronous: "FULL"), seeds: 0..<300)
        #expect(report.lostCommits == 0)
        #expect(report.powerLosses >= 600)
    }

    @Test func `with synchronous FULL a deleted rollback journal can reappear and undo one commit`() throws {
        let report = try crashes(BankWorkload(journalMode: .delete, synchronous: "FULL"), seeds: 0..<300)
        #expect(report.lostCommits > 0)
        #expect(report.mostLostAtOnce == 1)
    }

    @Test func `with synchronous NORMAL a WAL loses only its last commits, and never a part of a commit`() throws {
        let report = try crashes(BankWorkload(journalMode: .wal, synchronous: "NORMAL"), seeds: 0..<300)
        #expect(report.lostCommits > 0)
    }

    @Test func `garbage in lost pages does not damage a WAL`() throws {
        let report = try crashes(BankWorkload(journalMode: .wal, synchronous: "FULL"), seeds: 0..<150, garbage: 0.5)
        #expect(report.lostCommits == 0)
    }

    @Test(arguments: BankWorkload.JournalMode.allCases)
    func `a killed process loses no commit, even with synchronous OFF`(mode: BankWorkload.JournalMode) throws {
        let report = try crashes(BankWorkload(journalMode: mode, synchronous: "OFF"), seeds: 0..<100, effect: .kill)
        #expect(report.lostCommits == 0)
    }

    @Test func `after a failed sync the data is readable, but can be lost even if a later sync succeeds`() throws {
        func open(_ process: DiskProcess) throws -> RawConnection {
            let connection = try RawConnection("/notes.db", on: process)
            try connection.run("PRAGMA journal_mode = WAL")
            try connection.run("PRAGMA synchronous = FULL")
            return connection
        }
        func count(_ process: DiskProcess) throws -> Int { try open(process).integer("SELECT count(*) FROM note") }
        var left: Set<Int> = []
        for seed in 0..<32 as Range<UInt64> {
            let disk = SimulatedDisk(seed: seed)
            let first = disk.makeProcess()
            let connection = try open(first)
            try connection.run("CREATE TABLE note (id INTEGER PRIMARY KEY)")
            disk.plan(DiskFault(.sync, of: .wal, times: 1, effect: .fail(.inputOutput)))
            #expect(throws: (any Error).self) { try connection.run("INSERT INTO note VALUES (1)") }
            first.kill()
            let second = try open(disk.makeProcess())
            #expect(try second.integer("SELECT count(*) FROM note") == 1)
            try second.run("INSERT INTO note VALUES (2)")
            disk.losePower(seed: seed)
            left.insert(try count(disk.makeProcess()))
        }
        #expect(left == [0, 2])
    }

    @Test func `without syncs a power loss damages a database`() throws {
        // This shows that the tests above can fail: the disk loses and tears writes.
        #expect(throws: (any Error).self) {
            try crashes(BankWorkload(journalMode: .delete, synchronous: "OFF"), seeds: 0..<300)
        }
    }

    /// The journal modes with the failures that can occur in them. In WAL mode, a transfer opens no file.
    static let failures = BankWorkload.JournalMode.allCases.flatMap { mode in
        DiskFault.Failure.allCases.filter { mode != .wal || $0 != .cannotOpen }.map { (mode, $0) }
    }

    @Test(arguments: failures)
    func `a database survives the failure of any disk operation`(
        mode: BankWorkload.JournalMode, response: DiskFault.Failure
    )
        throws
    {
        let bank = BankWorkload(journalMode: mode, synchronous: "FULL")
        let kinds: DiskOperations =
            switch response {
            case .busy: [.lock, .sharedMemoryLock]
            case .cannotOpen: .open
            case .full: .write
            case .inputOutput: [.write, .sync, .truncate, .delete, .lock, .read, .sharedMemoryMap, .access]
            }
        var codes: Set<Int32> = []
        var skip = 0
        while true {
            let disk = SimulatedDisk(seed: UInt64(skip))
            var random = SeededRandom(seed: 3)
            var committed = 0
            do {
                let process = disk.makeProcess()
                let connection = try bank.open(process)
                try bank.create(connection)
                disk.plan(DiskFault(kinds, skip: skip, effect: .fail(response)))
                do {
                    for number in 1...6 {
                        try bank.transfer(number: number, connection, random: &random)
                        committed = number
                    }
                } catch let failure as RawConnection.Failure {
                    codes.insert(failure.code)
                }
                let wasHit = disk.faultCount > 0
                disk.clearPlans()
                // The same connection is still usable.
                let count = try bank.check(connection)
                #expect(
                    (committed...committed + 1).contains(count),
                    "\(mode) \(response) at \(skip): \(disk.lastOperations)")
                try bank.transfer(number: count + 1, connection, random: &random)
                committed = count + 1
                if !wasHit { break }
            }
            // The next process can use the database too.
            let after = try bank.check(bank.open(disk.makeProcess()))
            #expect(after == committed)
            skip += 1
        }
        let expected: Set<Int32> =
            switch response {
            case .inputOutput: [SQLITE_IOERR]
            case .full: [SQLITE_FULL]
            case .busy: [SQLITE_BUSY]
            case .cannotOpen: [SQLITE_CANTOPEN]
            }
        #expect(codes.isSuperset(of: expected), "\(codes)")
        // Each of the six transfers opens the rollback journal, because SQLite closes it when it releases its locks.
        #expect(skip > (response == .cannotOpen ? 4 : 5))
    }

    @Test func `a full disk is reported as such, and existing data is kept`() throws {
        let bank = BankWorkload(journalMode: .wal, synchronous: "FULL")
        let disk = SimulatedDisk(seed: 5)
        var random = SeededRandom(seed: 5)
        let connection = try bank.open(disk.makeProcess())
        try bank.create(connection)
        disk.setCapacity(bytes: 150_000)
        var committed = 0
        let failure = #expect(throws: RawConnection.Failure.self) {
            while true {
                try bank.transfer(number: committed + 1, connection, random: &random)
                committed += 1
            }
        }
        #expect(failure?.code == SQLITE_FULL)
        #expect(committed > 3)
        #expect(try bank.check(connection) == committed)
        disk.setCapacity(bytes: nil)
        try bank.transfer(number: committed + 1, connection, random: &random)
    }

    @Test func `a read-only disk can be read and refuses writes`() throws {
        let bank = BankWorkload(journalMode: .delete, synchronous: "FULL")
        let disk = SimulatedDisk(seed: 5)
        try bank.create(bank.open(disk.makeProcess()))
        disk.setReadOnly(true)
        let connection = try RawConnection(BankWorkload.path, on: disk.makeProcess())
        #expect(try connection.integer("SELECT count(*) FROM account") == BankWorkload.accounts)
        let failure = #expect(throws: RawConnection.Failure.self) { try connection.run("DELETE FROM account") }
        #expect(failure?.code == SQLITE_READONLY)
    }

    @Test(arguments: [BankWorkload.JournalMode.wal, .delete])
    func `a write of one process locks out writes of another`(mode: BankWorkload.JournalMode) throws {
        let bank = BankWorkload(journalMode: mode, synchronous: "FULL")
        let disk = SimulatedDisk(seed: 5)
        let first = try bank.open(disk.makeProcess())
        try bank.create(first)
        let second = try bank.open(disk.makeProcess())
        try first.run("BEGIN IMMEDIATE")
        try first.run("UPDATE account SET coins = 7 WHERE id = 0")
        let failure = #expect(throws: RawConnection.Failure.self) { try second.run("BEGIN IMMEDIATE") }
        #expect(failure?.code == SQLITE_BUSY)
        #expect(try second.integer("SELECT coins FROM account WHERE id = 0") == 100)
        try first.run("COMMIT")
        #expect(try second.integer("SELECT coins FROM account WHERE id = 0") == 7)
        try second.run("BEGIN IMMEDIATE")
        try second.run("UPDATE account SET coins = 100 WHERE id = 0")
        try second.run("COMMIT")
        #expect(try bank.check(first) == 0)
    }

    @Test func `the locks of a killed process are released, and its open transaction is rolled back`() throws {
        for mode in [BankWorkload.JournalMode.wal, .delete] {
            let bank = BankWorkload(journalMode: mode, synchronous: "FULL")
            let disk = SimulatedDisk(seed: 5)
            let victim = disk.makeProcess()
            let first = try bank.open(victim)
            try bank.create(first)
            let second = try bank.open(disk.makeProcess())
            try first.run("BEGIN IMMEDIATE")
            try first.run("UPDATE account SET coins = coins + 1")
            victim.kill()
            #expect(throws: RawConnection.Failure.self) { try first.run("COMMIT") }
            #expect(try second.integer("SELECT coins FROM account WHERE id = 0") == 100)
            var random = SeededRandom(seed: 1)
            try bank.transfer(number: 1, second, random: &random)
            #expect(try bank.check(second) == 1)
            #expect(victim.isDead)
        }
    }

    @Test func `a disk can be copied, rolled back, and damaged`() throws {
        let bank = BankWorkload(journalMode: .wal, synchronous: "FULL")
        let disk = SimulatedDisk(seed: 5)
        var random = SeededRandom(seed: 5)
        do {
            let connection = try bank.open(disk.makeProcess())
            try bank.create(connection)
            for number in 1...5 { try bank.transfer(number: number, connection, random: &random) }
        }
        let image = disk.image()
        do {
            let connection = try bank.open(disk.makeProcess())
            for number in 6...9 { try bank.transfer(number: number, connection, random: &random) }
        }
        let copy = SimulatedDisk(seed: 6)
        copy.restore(disk.image())
        #expect(try bank.check(bank.open(copy.makeProcess())) == 9)
        disk.restore(image)
        #expect(try bank.check(bank.open(disk.makeProcess())) == 5)
        copy.losePower(seed: 1)
        #expect(try bank.check(bank.open(copy.makeProcess())) == 9)

        #expect(copy.corrupt(BankWorkload.path, at: 4_096))
        #expect(!copy.corrupt(BankWorkload.path, at: 1 << 40))
        #expect(!copy.corrupt(BankWorkload.path, at: 4_096, flipping: 0))
        #expect(throws: (any Error).self) { try bank.check(bank.open(copy.makeProcess())) }
    }

    @Test func `the same seed and program give the same trace`() throws {
        func hash(seed: UInt64) throws -> (UInt64, Int) {
            let disk = SimulatedDisk(seed: seed)
            let bank = BankWorkload(journalMode: .wal, synchronous: "NORMAL")
            _ = try generations(bank, disk: disk, seed: seed, effect: .losePower, garbage: 0.2)
            return (disk.traceHash, disk.operationCount)
        }
        for seed in 0..<10 as Range<UInt64> {
            #expect(try hash(seed: seed) == hash(seed: seed), "seed \(seed)")
        }
        #expect(try hash(seed: 1) != hash(seed: 2))
    }

    @Test func `concurrent disks do not affect each other`() throws {
        @Sendable func hash(seed: UInt64) throws -> UInt64 {
            let bank = BankWorkload(journalMode: .wal, synchronous: "FULL")
            let disk = SimulatedDisk(seed: seed)
            _ = try generations(bank, disk: disk, seed: seed, effect: .losePower, garbage: 0)
            return disk.traceHash
        }
        let seeds = 0..<4 as Range<UInt64>
        let alone = seeds.map { OtherThread.results(of: [$0], hash)[$0] }
        #expect(!alone.contains(nil))
        for _ in 0..<6 {
            let concurrent = OtherThread.results(of: seeds, hash)
            #expect(seeds.map { concurrent[$0] } == alone)
        }
    }

    @Test func `a writer and readers beside it find the disk by its URI, and write ahead`() throws {
        let disk = SimulatedDisk(seed: 8)
        let process = disk.makeProcess()
        func open(_ process: DiskProcess) throws -> (writer: Connection, readers: ReaderPool) {
            let uri = DatabaseURI.make("/pool.sqlite", vfs: process.vfsName, creating: true)
            let writer = try Connection(opening: uri, busyTimeout: .zero)
            try writer.useWAL("/pool.sqlite")
            try writer.setDurability(.powerLoss, of: "/pool.sqlite")
            return (writer, ReaderPool(count: 2) { try Connection(opening: uri, busyTimeout: .zero) })
        }
        func count(_ readers: ReaderPool) throws -> Int64 {
            try readers.read { try $0.integer(of: "SELECT count(*) FROM item") }
        }
        do {
            let (writer, readers) = try open(process)
            try writer.write { writer in
                try writer.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)")
                for id in 1...100 { try writer.execute("INSERT INTO item VALUES (\(id), 'name')") }
                return .commit(())
            }
            #expect(try count(readers) == 100)
            #expect(try readers.read { try $0.text(of: "PRAGMA journal_mode") } == "wal")
        }
        #expect(process.openFileCount == 0)
        #expect(disk.fileNames.contains("/pool.sqlite"))

        disk.losePower(seed: 4)
        let next = disk.makeProcess()
        let (writer, readers) = try open(next)
        #expect(try count(readers) == 100)
        disk.plan(DiskFault(.write, effect: .fail(.full)))
        let failure = #expect(throws: DatabaseError.self) {
            try writer.write { .commit(try $0.execute("DELETE FROM item")) }
        }
        #expect(failure?.code == .diskFull)
        #expect(next.openFileCount > 0)
        #expect(try count(readers) == 100)
    }
}

// MARK: Many crashes

private struct CrashReport {
    var lostCommits = 0
    var mostLostAtOnce = 0
    var powerLosses = 0
}

private func crashes(
    _ bank: BankWorkload, seeds: Range<UInt64>, effect: DiskFault.Effect = .losePower, garbage: Double = 0
) throws -> CrashReport {
    var report = CrashReport()
    for seed in seeds {
        let disk = SimulatedDisk(seed: seed)
        for lost in try generations(bank, disk: disk, seed: seed, effect: effect, garbage: garbage) {
            report.lostCommits += lost
            report.mostLostAtOnce = max(report.mostLostAtOnce, lost)
        }
        report.powerLosses += disk.powerLossCount
    }
    return report
}

/// Three times, runs transfers until a planned fault ends the process, and checks the database afterward.
///
/// - Returns: The number of acknowledged commits that each crash has lost.
private func generations(
    _ bank: BankWorkload, disk: SimulatedDisk, seed: UInt64, effect: DiskFault.Effect, garbage: Double
) throws -> [Int] {
    var random = SeededRandom(seed: seed, stream: "bank")
    var lost: [Int] = []
    var committed = 0
    disk.setGarbage(fraction: garbage)
    for _ in 0..<3 {
        disk.plan(DiskFault(.changes, skip: random.below(120), effect: effect))
        let process = disk.makeProcess()
        do {
            let connection = try bank.open(process)
            try bank.create(connection)
            while true {
                try bank.transfer(number: committed + 1, connection, random: &random)
                committed += 1
            }
        } catch let failure as RawConnection.Failure {
            guard process.isDead else { throw failure }
        }
        guard process.openFileCount == 0 else { throw BankWorkload.TornError("files are still open after the crash") }
        let count = max(try bank.check(bank.open(disk.makeProcess())), 0)
        guard count <= committed + 1 else {
            throw BankWorkload.TornError("\(count) transfers, but only \(committed + 1) asked")
        }
        lost.append(max(committed - count, 0))
        committed = count
    }
    return lost
}
