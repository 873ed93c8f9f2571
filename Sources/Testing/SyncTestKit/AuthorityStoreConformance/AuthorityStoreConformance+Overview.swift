import SyncAuthority
import SyncModel

extension AuthorityStoreConformance {
    /// The rules for reads that only operators need.
    static var overviewChecks: [Check] {
        [
            Check("the extents of all change feeds are those of each space") { fixture in
                try fixture.expect(try fixture.read { view in try view.extents() }, [:], "the extents of a new store")
                try append((1...3).map { AuthorityStoreFixture.commit(Int64($0)) }, to: .default, in: fixture)
                try append([AuthorityStoreFixture.commit(1)], to: "other", in: fixture)
                try fixture.write { transaction in
                    try transaction.set(.reader, of: Principal(name: "anna"), in: "empty")
                    try transaction.trim(.default, through: Version(2))
                }
                let expected: [SpaceID: SpaceExtent] = [
                    .default: SpaceExtent(head: Version(3), horizon: Version(2)),
                    "other": SpaceExtent(head: Version(1), horizon: .zero),
                ]
                try fixture.expect(try fixture.read { view in try view.extents() }, expected, "the extents")
            },
            Check("live records are counted by collection, within one space") { fixture in
                try fixture.write { transaction in
                    for number in UInt64(0)..<7 {
                        try transaction.put(AuthorityStoreFixture.record(number, uid: Int64(number)))
                    }
                    for number in UInt64(0)..<2 {
                        try transaction.put(
                            AuthorityStoreFixture.record(number, of: "avatar", uid: Int64(number)))
                    }
                    try transaction.put(AuthorityStoreFixture.record(9, uid: 9, space: "other"))
                    try transaction.put(
                        AuthorityStoreFixture.record(3, uid: 3, deletion: AuthorityStoreFixture.stamp(1)))
                    try transaction.put(
                        AuthorityStoreFixture.record(4, of: "profile", uid: 4, deletion: AuthorityStoreFixture.stamp(1))
                    )
                }
                func counts(_ space: SpaceID) throws -> [CollectionName: Int] {
                    try fixture.read { view in try view.recordCounts(in: space) }
                }
                try fixture.expect(try counts(.default), ["user": 6, "avatar": 2], "the counts of a space")
                try fixture.expect(try counts("other"), ["user": 1], "the counts of another space")
                try fixture.expect(try counts("empty"), [:], "the counts of a space without records")
            },
            Check("the newest commits come first, in pages without gaps, down to the horizon") { fixture in
                let sizes = [1, 3, 1, 1, 2, 5, 1]
                let commits = sizes.enumerated().map {
                    AuthorityStoreFixture.commit(Int64($0.offset + 1), changes: $0.element)
                }
                try append(commits, to: .default, in: fixture)
                try append([AuthorityStoreFixture.commit(1)], to: "other", in: fixture)
                func walk(rows: Int, bytes: Int) throws -> [RecordedCommit] {
                    var found: [RecordedCommit] = []
                    while true {
                        let page = try fixture.read { view in
                            try view.recentCommits(
                                in: .default, before: found.last?.commit.version,
                                budget: PageBudget(rows: rows, bytes: bytes))
                        }
                        if page.isEmpty { return found }
                        let total = page.reduce(0) { $0 + $1.commit.changes.count }
                        try fixture.expect(
                            total <= rows || page.count == 1, true, "whether \(total) changes fit into \(rows)")
                        if bytes == 1 { try fixture.expect(page.count, 1, "commits of a page without room") }
                        found += page
                    }
                }
                for through in [Int64(0), 3] {
                    try fixture.write { transaction in try transaction.trim(.default, through: Version(through)) }
                    let expected = commits.filter { $0.version.rawValue > through }.reversed().map {
                        RecordedCommit(
                            commit: $0, author: AuthorityStoreFixture.author($0.version.rawValue))
                    }
                    for rows in 1...15 {
                        for bytes in [1, AuthorityStoreFixture.ample] {
                            try fixture.expect(
                                try walk(rows: rows, bytes: bytes), expected,
                                "the feed above \(through) in pages of \(rows)")
                        }
                    }
                }
                let whole = try fixture.read { view in
                    try view.recentCommits(
                        in: .default, before: nil, budget: PageBudget(rows: 99, bytes: AuthorityStoreFixture.ample))
                }
                try fixture.expect(whole.count, 4, "the commits of a page with room for all")
            },
            Check("clients are listed by id with their owners and the progress of their newest incarnation") {
                fixture in
                func ledger(_ next: Int64) -> Ledger {
                    Ledger(next: TransactionNumber(next), acknowledged: TransactionNumber(next / 2))
                }
                // The largest id has its highest bit set, so ids must not be compared as signed numbers.
                let ids = [3, 1, 0x7F, 0x80, .max].map { AuthorityStoreFixture.client($0) }.sorted()
                try fixture.write { transaction in
                    for (index, id) in ids.enumerated() {
                        let principal = Principal(name: index == 1 ? "eve" : "anna")
                        try transaction.bind(id, to: principal)
                        // The last client has pushed nothing that got a number.
                        for incarnation in 0...index where index < 4 {
                            let identity = ClientIdentity(client: id, incarnation: incarnation)
                            try transaction.set(
                                ledger(Int64(10 * index + incarnation)),
                                of: LedgerKey(principal: principal, identity: identity))
                        }
                    }
                    // A ledger of another principal under the id of a client does not count.
                    let stranger = ClientIdentity(client: ids[0], incarnation: 9)
                    try transaction.set(
                        ledger(99), of: LedgerKey(principal: Principal(name: "mallory"), identity: stranger))
                }
                let expected = ids.enumerated().map { index, id in
                    StoredClient(
                        identity: ClientIdentity(client: id, incarnation: index < 4 ? index : 0),
                        principal: Principal(name: index == 1 ? "eve" : "anna"),
                        ledger: index < 4 ? ledger(Int64(11 * index)) : .empty)
                }
                for limit in 1...6 {
                    var found: [StoredClient] = []
                    while true {
                        let page = try fixture.read { view in
                            try view.clients(after: found.last?.identity.client, limit: limit)
                        }
                        try fixture.expect(
                            page.count, min(limit, ids.count - found.count), "the clients of a page of \(limit)")
                        if page.isEmpty { break }
                        found += page
                    }
                    try fixture.expect(found, expected, "the clients in pages of \(limit)")
                }
                try fixture.expect(
                    try fixture.read { view in try view.clientCount() }, 5, "the number of clients")
            },
            Check("a record counts for the account that created it, also when it is deleted") { fixture in
                func record(_ number: Int64, by client: ClientID, _ fields: Patch, isDeleted: Bool = false)
                    -> StoredRecord
                {
                    let stamp = Stamp(time: .zero, client: client)
                    let origin = FieldOrigin(version: Version(1), stamp: stamp, incarnation: 0)
                    return StoredRecord(
                        address: RecordAddress("users", RecordID(bits: Identifier128(high: 5, low: UInt64(number)))),
                        uid: UID(number), space: .default, version: Version(1),
                        creation: RecordCreation(origin: origin, claimedTime: .zero), deletion: isDeleted ? stamp : nil,
                        fields: fields.map { StoredField(name: $0.field, value: $0.value, origin: origin) })
                }
                let clients = (1...3).map { ClientID(bits: Identifier128(high: 6, low: UInt64($0))) }
                try fixture.write { transaction in
                    for client in clients.prefix(2) { try transaction.bind(client, to: Principal(name: "anna")) }
                    try transaction.bind(clients[2], to: Principal(name: "eve"))
                    _ = try transaction.takeVersion(in: .default)
                    try transaction.put(
                        record(1, by: clients[0], ["name": .text(String(repeating: "é", count: 500))]))
                    try transaction.put(record(2, by: clients[1], [:], isDeleted: true))
                }
                let usage = try fixture.read { view in try view.usage() }
                try fixture.expect(usage.count, 1, "the number of accounts with records")
                let anna = usage[Principal(name: "anna")]
                try fixture.expect(anna?.records, 2, "the records of an account")
                // Stores differ in the bytes around the values.
                let bytes = 2 * AuthorityLimits.recordBytes + 1_000
                try fixture.expect(
                    anna.map { (bytes...bytes + 100).contains($0.bytes) }, true, "the bytes of an account")
                for (name, count) in [("anna", 2), ("eve", 1), ("zoe", 0)] {
                    let devices = try fixture.read { view in try view.deviceCount(of: Principal(name: name)) }
                    try fixture.expect(devices, count, "the devices of \(name)")
                }
            },
            Check("the time of a commit is found by its transaction and version, in any space") { fixture in
                try append((1...3).map { AuthorityStoreFixture.commit(Int64($0)) }, to: .default, in: fixture)
                let author = AuthorityStoreFixture.author(7)
                try fixture.write { transaction in
                    _ = try transaction.takeVersion(in: "other")
                    try transaction.append(
                        AuthorityStoreFixture.commit(1), to: "other", by: author,
                        fingerprint: AuthorityStoreFixture.fingerprint(1))
                }
                func time(_ number: Int64, _ version: Int64, client: UInt64 = 3, incarnation: Int = 2) throws
                    -> WallTime?
                {
                    let identity = ClientIdentity(
                        client: AuthorityStoreFixture.client(client), incarnation: incarnation)
                    return try fixture.read { view in
                        try view.commitTime(of: TransactionNumber(number), from: identity, at: Version(version))
                    }
                }
                try fixture.expect(try time(7, 1), author.committedAt, "the time of a commit in another space")
                try fixture.expect(
                    try time(1, 1), AuthorityStoreFixture.author(1).committedAt, "the time of a commit with its version"
                )
                try fixture.expect(
                    try time(3, 3), AuthorityStoreFixture.author(3).committedAt, "the time of the newest commit")
                try fixture.expect(try time(7, 2), nil, "under another version")
                try fixture.expect(try time(1, 1, client: 4), nil, "of another client")
                try fixture.expect(try time(1, 1, incarnation: 1), nil, "of another incarnation")
                try fixture.expect(try time(9, 9), nil, "of a version that no space has")
                try fixture.write { transaction in try transaction.trim(.default, through: Version(2)) }
                try fixture.expect(try time(1, 1), nil, "of a trimmed commit")
                try fixture.expect(
                    try time(3, 3), AuthorityStoreFixture.author(3).committedAt, "above the horizon")
            },
            Check("the conflicts of one space are counted") { fixture in
                try fixture.write { transaction in
                    for version in 1...3 {
                        try transaction.note(
                            conflict, in: .default, at: Version(Int64(version)), by: AuthorityStoreFixture.author(0))
                    }
                    try transaction.note(conflict, in: "other", at: Version(1), by: AuthorityStoreFixture.author(0))
                }
                for (space, count) in [(SpaceID.default, 3), ("other", 1), ("empty", 0)] {
                    try fixture.expect(
                        try fixture.read { view in try view.conflictCount(in: space) }, count,
                        "the conflicts of \(space)")
                }
            },
        ]
    }
}
