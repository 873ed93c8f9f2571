import SyncAuthority
import SyncModel

extension AuthorityStoreConformance {
    static var ledgerChecks: [Check] {
        [
            Check("each principal, client and incarnation has its own ledger") { fixture in
                let keys = ["anna", "Anna", "eve"].flatMap { principal in
                    [1, 2].flatMap { client in
                        [0, 1].map { AuthorityStoreFixture.key(principal, client, incarnation: $0) }
                    }
                }
                try fixture.write { transaction in
                    for (index, key) in keys.enumerated() {
                        try transaction.set(
                            Ledger(next: TransactionNumber(Int64(index) + 2), acknowledged: .first), of: key)
                        try transaction.set(
                            Ledger(next: TransactionNumber(Int64(index) + 3), acknowledged: TransactionNumber(1)),
                            of: key)
                    }
                }
                for (index, key) in keys.enumerated() {
                    let found = try fixture.read { view in try view.ledger(of: key) }
                    try fixture.expect(
                        found, Ledger(next: TransactionNumber(Int64(index) + 3), acknowledged: TransactionNumber(1)),
                        "the ledger of \(key)")
                }
            },
            Check("outcomes come back as they were kept") { fixture in
                let key = AuthorityStoreFixture.key("anna")
                let outcomes: [Outcome] = [
                    .applied(version: .zero, uids: [], conflicts: []),
                    .applied(
                        version: .largest,
                        uids: [AssignedUID(collection: "user", record: AuthorityStoreFixture.id(1), uid: UID(.max))],
                        conflicts: [conflict]),
                    .rejected(Rejection(code: .stillReferenced, message: "no: \"x\"\n", mutation: 3)),
                    .rejected(Rejection(code: RejectionCode(rawValue: "from_the_future"), message: "", mutation: nil)),
                ]
                try fixture.write { transaction in
                    for (index, outcome) in outcomes.enumerated() {
                        try transaction.keep(
                            StoredOutcome(hash: PayloadHash(rawValue: "hash \(index)"), outcome: outcome), of: key,
                            TransactionNumber(Int64(index)))
                    }
                }
                for (index, outcome) in outcomes.enumerated() {
                    let found = try fixture.read { view in
                        try view.outcome(of: key, TransactionNumber(Int64(index)))
                    }
                    try fixture.expect(
                        found, StoredOutcome(hash: PayloadHash(rawValue: "hash \(index)"), outcome: outcome),
                        "outcome \(index)")
                }
            },
            Check("forgetting outcomes removes those of the client below the number, and no others") { fixture in
                let mine = AuthorityStoreFixture.key("anna", 1)
                let others = [
                    AuthorityStoreFixture.key("eve", 1), AuthorityStoreFixture.key("anna", 2),
                    AuthorityStoreFixture.key("anna", 1, incarnation: 1),
                ]
                let outcome = StoredOutcome(
                    hash: PayloadHash(rawValue: "h"), outcome: .applied(version: .zero, uids: [], conflicts: []))
                try fixture.write { transaction in
                    for key in [mine] + others {
                        for number in 0..<4 { try transaction.keep(outcome, of: key, TransactionNumber(Int64(number))) }
                    }
                    try transaction.forgetOutcomes(of: mine, below: TransactionNumber(2), keeping: 0)
                }
                func kept(_ key: LedgerKey) throws -> [Bool] {
                    try fixture.read { view in
                        var kept: [Bool] = []
                        for number in 0..<4 {
                            kept.append(try view.outcome(of: key, TransactionNumber(Int64(number))) != nil)
                        }
                        return kept
                    }
                }
                try fixture.expect(try kept(mine), [false, false, true, true], "one's own")
                for key in others { try fixture.expect(try kept(key), [true, true, true, true], "those of \(key)") }
            },
            Check("forgetting outcomes keeps the newest ones that fit") { fixture in
                let key = AuthorityStoreFixture.key("anna")
                let outcome = StoredOutcome(
                    hash: PayloadHash(rawValue: "h"),
                    outcome: .applied(version: .zero, uids: [], conflicts: [conflict.losing(10_000)]))
                try fixture.write { transaction in
                    for number in 0..<5 { try transaction.keep(outcome, of: key, TransactionNumber(Int64(number))) }
                }
                func kept(keeping bytes: Int) throws -> [Int] {
                    try fixture.write { transaction in
                        try transaction.forgetOutcomes(of: key, below: TransactionNumber(4), keeping: bytes)
                        return try (0..<5).filter { number in
                            try transaction.outcome(of: key, TransactionNumber(Int64(number))) != nil
                        }
                    }
                }
                try fixture.expect(try kept(keeping: 50_000), [0, 1, 2, 3, 4], "with room for all")
                try fixture.expect(try kept(keeping: 25_000), [2, 3, 4], "with room for two")
                try fixture.expect(try kept(keeping: 9_000), [4], "without room, what is not below the number")
            },
            Check("the outcomes of former incarnations are forgotten, but not their ledgers") { fixture in
                let keys = [0, 2, 3, 7].map { AuthorityStoreFixture.key("anna", 1, incarnation: $0) }
                let others = [AuthorityStoreFixture.key("eve", 1), AuthorityStoreFixture.key("anna", 2)]
                let outcome = StoredOutcome(
                    hash: PayloadHash(rawValue: "h"), outcome: .applied(version: .zero, uids: [], conflicts: []))
                let ledger = Ledger(next: TransactionNumber(1), acknowledged: .first)
                func kept(keeping count: Int) throws -> [Bool] {
                    try fixture.write { transaction in
                        try transaction.forgetOutcomes(ofFormerIncarnationsOf: keys[0], keeping: count)
                        return try (keys + others).map { try transaction.outcome(of: $0, .first) != nil }
                    }
                }
                try fixture.write { transaction in
                    for key in keys + others { try transaction.keep(outcome, of: key, .first) }
                }
                try fixture.expect(try kept(keeping: 2), Array(repeating: true, count: 6), "without a ledger")
                try fixture.write { transaction in
                    for key in keys + others { try transaction.set(ledger, of: key) }
                }
                try fixture.expect(try kept(keeping: 9), Array(repeating: true, count: 6), "of few incarnations")
                try fixture.expect(
                    try kept(keeping: 2), [false, false, true, true, true, true], "all but those of the newest two")
                try fixture.expect(try fixture.read { view in try view.ledger(of: keys[0]) }, ledger, "a ledger")
            },
            Check("the journal of a space is read in order, in pages") { fixture in
                try fixture.write { transaction in
                    for number in 1...5 {
                        try transaction.note(
                            conflict, in: .default, at: Version(Int64(number)),
                            by: AuthorityStoreFixture.author(Int64(number)))
                        try transaction.note(
                            conflict, in: "other", at: Version(100), by: AuthorityStoreFixture.author(0))
                    }
                }
                var found: [RecordedConflict] = []
                while true {
                    let page = try fixture.read { view in
                        try view.conflicts(in: .default, after: found.last?.number ?? 0, limit: 2)
                    }
                    if page.isEmpty { break }
                    try fixture.expect(page.count <= 2, true, "whether \(page.count) rows are two at most")
                    found += page
                }
                try fixture.expect(found.map(\.version.rawValue), [1, 2, 3, 4, 5], "the versions")
                try fixture.expect(found.map(\.author), (1...5).map { AuthorityStoreFixture.author($0) }, "the authors")
                try fixture.expect(
                    found.map(\.conflict), Array(repeating: conflict, count: 5), "the conflicts")
                func versions(within bytes: Int) throws -> [Int64] {
                    try fixture.read { view in
                        try view.conflicts(in: .default, after: 0, budget: PageBudget(rows: 9, bytes: bytes))
                    }.map(\.version.rawValue)
                }
                try fixture.expect(try versions(within: 0), [1], "the first one, which exceeds the budget")
                try fixture.expect(try versions(within: conflict.byteCount + 1), [1, 2], "those that use it up")
            },
            Check("a notice is for the client whose value gave way, even if that client pushed") { fixture in
                let loser = conflict.loser.stamp.client
                let pushedByLoser = CommitAuthor(
                    principal: Principal(name: "anna"), identity: ClientIdentity(client: loser, incarnation: 0),
                    number: .first, committedAt: WallTime(milliseconds: 0))
                try fixture.write { transaction in
                    for version in 1...3 {
                        try transaction.note(
                            conflict, in: .default, at: Version(Int64(version)), by: AuthorityStoreFixture.author(0))
                    }
                    try transaction.note(conflict, in: .default, at: Version(4), by: pushedByLoser)
                    try transaction.note(conflict, in: "other", at: Version(5), by: AuthorityStoreFixture.author(0))
                }
                func versions(_ clients: [ClientID], after: Int64 = 0, limit: Int = 9) throws -> [Int64] {
                    try fixture.read { view in
                        try view.notices(for: clients, in: .default, after: after, limit: limit)
                    }.map(\.version.rawValue)
                }
                let stranger = AuthorityStoreFixture.client(77)
                try fixture.expect(try versions([loser, stranger]), [1, 2, 3, 4], "the notices of a client")
                try fixture.expect(try versions([loser], limit: 2), [1, 2], "the first two")
                try fixture.expect(try versions([stranger]), [], "those of a client that lost nothing")
                try fixture.expect(try versions([]), [], "those of nobody")
                let first = try fixture.read { view in
                    try view.notices(for: [loser], in: .default, after: 0, limit: 1)
                }
                try fixture.expect(
                    try versions([loser], after: first.first?.number ?? 0), [2, 3, 4], "those that follow")
            },
            Check("the oldest conflicts go first, and no number is given twice") { fixture in
                func note(_ version: Int64) throws {
                    try fixture.write { transaction in
                        try transaction.note(
                            conflict, in: .default, at: Version(version), by: AuthorityStoreFixture.author(0))
                    }
                }
                func all() throws -> [RecordedConflict] {
                    try fixture.read { view in
                        try view.conflicts(in: .default, after: 0, limit: 9)
                    }
                }
                func trim(keeping count: Int, limit: Int) throws -> Int {
                    try fixture.write { transaction in
                        try transaction.trimConflicts(keeping: ConflictAmount(conflicts: count), limit: limit)
                    }
                }
                for version in 1...4 { try note(Int64(version)) }
                let last = try all().last?.number ?? 0
                try fixture.expect(try trim(keeping: 1, limit: 2), 2, "how many one slice removes")
                try fixture.expect(try trim(keeping: 1, limit: 2), 1, "how many are left to remove")
                try fixture.expect(try trim(keeping: 1, limit: 2), 0, "how many there are to remove")
                try fixture.expect(try all().map(\.version.rawValue), [4], "the newest")
                try fixture.expect(try trim(keeping: 0, limit: 9), 1, "the last one")
                try note(5)
                try fixture.expect(try all().map { $0.number > last }, [true], "whether the next number is greater")
            },
            Check("the principal with the most conflicts loses its oldest ones first") { fixture in
                let (anna, bo) = (AuthorityStoreFixture.client(1), conflict.loser.stamp.client)
                try fixture.write { transaction in
                    try transaction.bind(anna, to: Principal(name: "anna"))
                    try transaction.bind(bo, to: Principal(name: "bo"))
                    for version in 1...5 {
                        try transaction.note(
                            conflict.losing(1, by: version == 1 ? anna : bo), in: .default, at: Version(Int64(version)),
                            by: AuthorityStoreFixture.author(0))
                    }
                }
                let removed = try fixture.write { transaction in
                    try transaction.trimConflicts(keeping: ConflictAmount(conflicts: 3), limit: 9)
                }
                try fixture.expect(removed, 2, "the number of removed conflicts")
                let left = try fixture.read { view in
                    try view.conflicts(in: .default, after: 0, limit: 9)
                }
                try fixture.expect(left.map(\.version.rawValue), [1, 4, 5], "the versions that are left")
            },
            Check("with too many bytes, the principal with the most bytes loses its oldest conflicts first") {
                fixture in
                let (anna, bo) = (AuthorityStoreFixture.client(1), AuthorityStoreFixture.client(2))
                try fixture.write { transaction in
                    try transaction.bind(anna, to: Principal(name: "anna"))
                    try transaction.bind(bo, to: Principal(name: "bo"))
                    for version in 1...6 {
                        let conflict = version <= 3 ? conflict.losing(10, by: anna) : conflict.losing(10_000, by: bo)
                        let space: SpaceID = version == 4 ? "other" : .default
                        try transaction.note(
                            conflict, in: space, at: Version(Int64(version)), by: AuthorityStoreFixture.author(0))
                    }
                }
                func amount() throws -> ConflictAmount { try fixture.read { view in try view.conflictAmount() } }
                let all = try amount()
                try fixture.expect(all.conflicts, 6, "the number of conflicts")
                try fixture.expect(all.bytes > 30_000, true, "whether \(all.bytes) bytes are those of all values")
                func trim(keeping bytes: Int, limit: Int = 9) throws -> Int {
                    try fixture.write { transaction in
                        try transaction.trimConflicts(keeping: ConflictAmount(bytes: bytes), limit: limit)
                    }
                }
                func left(in space: SpaceID) throws -> [Int64] {
                    try fixture.read { view in try view.conflicts(in: space, after: 0, limit: 9) }.map(
                        \.version.rawValue)
                }
                try fixture.expect(try trim(keeping: all.bytes), 0, "the number removed with room for all")
                try fixture.expect(try trim(keeping: 25_000), 1, "the number removed with room for two large ones")
                try fixture.expect(try left(in: "other"), [], "the conflicts of the other space")
                try fixture.expect(try trim(keeping: 9_000, limit: 1), 1, "the number removed in a slice of one")
                try fixture.expect(try left(in: .default), [1, 2, 3, 6], "the versions that are left")
                try fixture.expect(try amount().conflicts, 4, "the number of conflicts that are left")
                try fixture.expect(
                    try fixture.read { view in try view.conflictCount(in: .default) }, 4, "the number in the space")
                try fixture.expect(try trim(keeping: 0), 1, "the number removed of the heaviest principal")
                try fixture.expect(try trim(keeping: 0), 3, "the number removed of the next one")
                try fixture.expect(try amount(), ConflictAmount(conflicts: 0, bytes: 0), "what is left")
            },
            Check("the newest removed notice of a client is known, by space") { fixture in
                let (anna, bo) = (AuthorityStoreFixture.client(1), AuthorityStoreFixture.client(2))
                func removed(_ clients: [ClientID], in space: SpaceID = .default) throws -> Int64 {
                    try fixture.read { view in try view.newestRemovedNotice(for: clients, in: space) }
                }
                func numbers(_ space: SpaceID) throws -> [Int64] {
                    try fixture.read { view in try view.conflicts(in: space, after: 0, limit: 9) }.map(\.number)
                }
                try fixture.write { transaction in
                    for (version, (client, space)) in [
                        (anna, SpaceID.default), (anna, .default), (bo, .default), (anna, "other"), (anna, .default),
                    ].enumerated() {
                        try transaction.note(
                            conflict.losing(1, by: client), in: space, at: Version(Int64(version)),
                            by: AuthorityStoreFixture.author(0))
                    }
                }
                let known = try numbers(.default)
                try fixture.expect(try removed([anna, bo]), 0, "before any is removed")
                try fixture.write { transaction in
                    _ = try transaction.trimConflicts(keeping: ConflictAmount(conflicts: 2), limit: 9)
                }
                // Nobody owns these clients, so all count as one principal.
                try fixture.expect(try removed([anna]), known[1], "those of the first client")
                try fixture.expect(try removed([bo]), known[2], "those of the second client")
                try fixture.expect(try removed([anna, bo]), known[2], "those of both")
                try fixture.expect(try removed([anna], in: "other"), 0, "those of another space")
                try fixture.expect(try removed([]), 0, "those of nobody")
                try fixture.expect(try numbers(.default), [known[3]], "what is left")
            },
            Check("a client id has the owner that it was bound to, and no other") { fixture in
                let client = AuthorityStoreFixture.client(5)
                func owner() throws -> ClientOwner? {
                    try fixture.read { view in try view.owner(of: client) }
                }
                try fixture.expect(try owner(), nil, "the owner of an unknown client")
                try fixture.write { transaction in
                    try transaction.bind(client, to: Principal(name: "anna"))
                }
                let anna = Principal(name: "anna")
                try fixture.expect(try owner(), ClientOwner(principal: anna), "the owner")
                for replacement in [AuthorityStoreFixture.client(6), client, nil] {
                    try fixture.write { transaction in try transaction.mark(client, replacedBy: replacement) }
                    try fixture.expect(try owner(), ClientOwner(principal: anna, replacement: replacement), "the owner")
                    try fixture.expect(
                        try fixture.read { view in try view.clients(after: nil, limit: 9) }.map(\.isReplaced),
                        [replacement != nil],
                        "the replaced clients")
                    let devices = try fixture.read { view in try view.deviceCount(of: anna) }
                    try fixture.expect(devices, replacement == nil ? 1 : 0, "the clients that count")
                }
            },
            Check("a conflict names the accounts of both sides, as far as they are known") { fixture in
                try fixture.write { transaction in
                    try transaction.bind(conflict.loser.stamp.client, to: Principal(name: "bo"))
                    try transaction.note(conflict, in: .default, at: Version(1), by: AuthorityStoreFixture.author(0))
                }
                let found = try fixture.read { view in
                    try view.conflicts(in: .default, after: 0, limit: 1)
                }
                try fixture.expect(
                    found.first?.conflict.loser.account, AccountID(rawValue: "bo"), "the loser's account")
                try fixture.expect(found.first?.conflict.winner.account, nil, "the account of an unknown client")
            },
        ]
    }
}

extension FieldConflict {
    /// Returns a copy whose losing value has `bytes` bytes.
    ///
    /// - Parameter client: the client that wrote the losing value; nil for the same one.
    fileprivate func losing(_ bytes: Int, by client: ClientID? = nil) -> FieldConflict {
        let loser = Contender(
            value: .text(String(repeating: "v", count: bytes)),
            stamp: Stamp(time: loser.stamp.time, client: client ?? loser.stamp.client))
        return FieldConflict(
            collection: collection, record: record, field: field, base: base, winner: winner, loser: loser, rule: rule)
    }
}
