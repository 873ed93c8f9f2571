import SyncAuthority
import SyncModel

extension AuthorityStoreConformance {
    static var transactionChecks: [Check] {
        [
            Check("a new store has its epoch and nothing else") { fixture in
                let (state, extent, ledger) = try fixture.read { view in
                    (
                        try view.state(), try view.extent(of: .default),
                        try view.ledger(of: AuthorityStoreFixture.key("a"))
                    )
                }
                try fixture.expect(state.history, AuthorityStoreFixture.history, "the history")
                try fixture.expect(state.clock.last, .zero, "the clock")
                try fixture.expect(extent, .empty, "the extent of a space")
                try fixture.expect(ledger, .empty, "a ledger")
                try fixture.expect(try contents(of: fixture), nothing, "what is there")
            },
            Check("the state of the server is stored, even with the greatest clock value") { fixture in
                let state = AuthorityState(
                    history: HistoryIdentity(
                        epoch: Epoch(rawValue: "other"), key: HistoryKey(words: (.max, 0, 1, .max))),
                    clock: HybridClock(last: HybridTime(rawValue: .max)))
                try fixture.write { transaction in try transaction.set(state) }
                let found = try fixture.read { view in try view.state() }
                try fixture.expect(found, state, "the state")
            },
            Check("the models that were stored last are kept, with the names of their rules") { fixture in
                func catalog(_ fields: FieldSchema...) -> SchemaCatalog {
                    SchemaCatalog([ModelSchema(collection: "todo", fields: fields)])
                }
                func stored() throws -> (catalog: SchemaCatalog?, revision: Int64) {
                    try fixture.read { view in (try view.catalog(), try view.state().catalogRevision) }
                }
                try fixture.expect(try stored().catalog, nil, "the models of a new store")
                try fixture.expect(try stored().revision, 0, "their revision")
                try fixture.write { transaction in try transaction.set(catalog(.text("title"))) }
                let first = try stored().revision
                let rule = FieldRule(name: "short") { _ in "is long" }
                let newer = catalog(.text("title"), .text("note", rule: rule))
                var revisions = [0, first]
                for _ in 0..<2 {
                    try fixture.write { transaction in try transaction.set(newer) }
                    revisions.append(try stored().revision)
                }
                let last = revisions[2]
                try fixture.expect(try stored().catalog, newer, "the models")
                try fixture.expect(Set(revisions).count, 3, "the number of revisions")
                try fixture.expect(try stored().revision, last, "the revision after the same models were stored again")
                try fixture.write { transaction in
                    var state = try transaction.state()
                    state.catalogRevision = 7
                    try transaction.set(state)
                }
                try fixture.expect(try stored().revision, last, "the revision after the state was stored")
            },
            Check("members keep their roles and their order, and each change gives a new revision") { fixture in
                func stored() throws -> (members: [SpaceMember], revision: Int64) {
                    try fixture.read { view in (try view.members(), try view.state().memberRevision) }
                }
                func member(_ space: SpaceID, _ name: String, _ role: SpaceRole) -> SpaceMember {
                    SpaceMember(space: space, principal: Principal(name: name), role: role)
                }
                try fixture.expect(try stored().members, [], "the members of a new store")
                try fixture.expect(try stored().revision, 0, "their revision")
                let changes: [(SpaceID, String, SpaceRole?)] = [
                    ("team", "ned", .writer), ("team", "Zoe", .reader), (.default, "ned", .reader),
                    ("team", "arya", .writer), ("team", "ned", .reader), ("team", "arya", nil), ("other", "arya", nil),
                ]
                var revisions: Set<Int64> = [0]
                for (space, name, role) in changes {
                    try fixture.write { transaction in
                        try transaction.set(role, of: Principal(name: name), in: space)
                    }
                    revisions.insert(try stored().revision)
                }
                let expected = [
                    member(.default, "ned", .reader), member("team", "Zoe", .reader), member("team", "ned", .reader),
                ]
                try fixture.expect(try stored().members, expected, "the members")
                try fixture.expect(revisions.count, changes.count + 1, "the number of revisions")
                let last = try stored().revision
                try fixture.write { transaction in
                    var state = try transaction.state()
                    state.memberRevision = 99
                    try transaction.set(state)
                }
                try fixture.expect(
                    try stored().revision, last, "the revision after the state was stored")
            },
            Check("a transaction sees what it has written itself") { fixture in
                let record = AuthorityStoreFixture.record(1, uid: 0)
                let key = AuthorityStoreFixture.key("anna")
                let seen = try fixture.write { transaction in
                    _ = try transaction.takeVersion(in: .default)
                    try transaction.put(record)
                    try transaction.set(Ledger(next: TransactionNumber(1), acknowledged: .first), of: key)
                    return (
                        try transaction.record(record.address), try transaction.extent(of: .default).head,
                        try transaction.ledger(of: key).next
                    )
                }
                try fixture.expect(seen.0, record, "the record")
                try fixture.expect(seen.1, Version(1), "the head")
                try fixture.expect(seen.2, TransactionNumber(1), "the ledger")
            },
            Check("a write that throws leaves nothing behind") { fixture in
                let thrown = AuthorityStoreError(.inputOutput, "on purpose")
                do {
                    try fixture.write { transaction in
                        try writeEverything(in: transaction)
                        throw thrown
                    }
                    throw Violation(rule: fixture.rule, detail: "`write` did not rethrow the error of its body")
                } catch let failure as AuthorityStoreError {
                    try fixture.expect(failure, thrown, "the failure")
                }
                try fixture.expect(try contents(of: fixture), nothing, "what is left")
                let version = try fixture.write { transaction in
                    try transaction.takeVersion(in: .default)
                }
                try fixture.expect(version, Version(1), "the version taken after the failure")
                let uid = try fixture.write { transaction in try transaction.takeUIDs(1, in: "user") }
                try fixture.expect(uid, UID(0), "the uid taken after the failure")
            },
            Check("everything that a write wrote is there afterwards") { fixture in
                try fixture.write { transaction in
                    try writeEverything(in: transaction)
                }
                try fixture.expect(
                    try contents(of: fixture), Array(repeating: "something", count: 12), "what is there")
            },
        ]
    }

    private static func writeEverything(in transaction: any AuthorityTransaction) throws(AuthorityStoreError) {
        let record = AuthorityStoreFixture.record(1, uid: 0)
        let key = AuthorityStoreFixture.key("anna")
        let author = AuthorityStoreFixture.author(0)
        try transaction.set(.writer, of: Principal(name: "anna"), in: "team")
        let version = try transaction.takeVersion(in: .default)
        _ = try transaction.takeUIDs(1, in: "user")
        try transaction.put(record)
        try transaction.link(
            Referrer(record.address, "avatar"), to: RecordAddress("avatar", AuthorityStoreFixture.id(2)))
        try transaction.append(
            AuthorityStoreFixture.commit(1), to: .default, by: author, fingerprint: AuthorityStoreFixture.fingerprint(1)
        )
        try transaction.set(Ledger(next: TransactionNumber(1), acknowledged: .first), of: key)
        try transaction.keep(
            StoredOutcome(
                hash: PayloadHash(rawValue: "h"), outcome: .applied(version: version, uids: [], conflicts: [])),
            of: key, .first)
        try transaction.note(Self.conflict, in: .default, at: version, by: author)
    }

    private static func contents(of fixture: AuthorityStoreFixture) throws -> [String] {
        try fixture.read { view in
            let key = AuthorityStoreFixture.key("anna")
            let target = RecordAddress("avatar", AuthorityStoreFixture.id(2))
            let budget = PageBudget(rows: 10, bytes: AuthorityStoreFixture.ample)
            let isThere: [Bool] = [
                try !view.members().isEmpty,
                try view.extent(of: .default) != .empty,
                try view.record(RecordAddress("user", AuthorityStoreFixture.id(1))) != nil,
                try view.record("user", UID(0)) != nil,
                try !view.rows(in: .default, of: "user", after: nil, budget: budget).records.isEmpty,
                try !view.referrers(of: target, through: [ReferenceField("user", "avatar")], limit: 5).isEmpty,
                try !view.commits(in: .default, after: .zero, budget: budget).isEmpty,
                try view.author(of: Version(1), in: .default) != nil,
                try view.fingerprint(at: Version(1), in: .default) != nil,
                try view.ledger(of: key) != .empty,
                try view.outcome(of: key, .first) != nil,
                try !view.conflicts(in: .default, after: 0, limit: 5).isEmpty,
            ]
            return isThere.map { $0 ? "something" : "nothing" }
        }
    }

    private static let nothing = Array(repeating: "nothing", count: 12)

    static let conflict = FieldConflict(
        collection: "user", record: AuthorityStoreFixture.id(1), field: "bio", base: .null,
        winner: Contender(value: .text("w"), stamp: AuthorityStoreFixture.stamp(9, 1)),
        loser: Contender(value: .integer(7), stamp: AuthorityStoreFixture.stamp(8, 2)), rule: .latestEdit)
}
