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
                    try transaction.forgetOutcomes(of: mine, below: TransactionNumber(2))
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
                        try transaction.trimConflicts(keeping: count, limit: limit)
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
                func lost(by client: ClientID) -> FieldConflict {
                    let loser = Contender(
                        value: conflict.loser.value, stamp: Stamp(time: conflict.loser.stamp.time, client: client))
                    return FieldConflict(
                        collection: conflict.collection, record: conflict.record, field: conflict.field,
                        base: conflict.base, winner: conflict.winner, loser: loser, rule: conflict.rule)
                }
                try fixture.write { transaction in
                    try transaction.bind(anna, to: Principal(name: "anna"))
                    try transaction.bind(bo, to: Principal(name: "bo"))
                    for version in 1...5 {
                        try transaction.note(
                            lost(by: version == 1 ? anna : bo), in: .default, at: Version(Int64(version)),
                            by: AuthorityStoreFixture.author(0))
                    }
                }
                let removed = try fixture.write { transaction in
                    try transaction.trimConflicts(keeping: 3, limit: 9)
                }
                try fixture.expect(removed, 2, "the number of removed conflicts")
                let left = try fixture.read { view in
                    try view.conflicts(in: .default, after: 0, limit: 9)
                }
                try fixture.expect(left.map(\.version.rawValue), [1, 4, 5], "the versions that are left")
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
