import SyncAuthority
import SyncModel

extension AuthorityStoreConformance {
    static var ledgerChecks: [Check] {
        [
            Check("each principal, client and incarnation has a ledger of its own") { world in
                let keys = ["anna", "Anna", "eve"].flatMap { principal in
                    [1, 2].flatMap { client in
                        [0, 1].map { AuthorityStoreWorld.key(principal, client, incarnation: $0) }
                    }
                }
                try world.write { (transaction) throws(AuthorityStoreFailure) in
                    for (index, key) in keys.enumerated() {
                        try transaction.set(
                            Ledger(next: MutationNumber(Int64(index) + 2), acknowledged: .first), of: key)
                        try transaction.set(
                            Ledger(next: MutationNumber(Int64(index) + 3), acknowledged: MutationNumber(1)), of: key)
                    }
                }
                for (index, key) in keys.enumerated() {
                    let found = try world.read { (view) throws(AuthorityStoreFailure) in try view.ledger(of: key) }
                    try world.expect(
                        found, Ledger(next: MutationNumber(Int64(index) + 3), acknowledged: MutationNumber(1)),
                        "the ledger of \(key)")
                }
            },
            Check("outcomes come back as they were kept") { world in
                let key = AuthorityStoreWorld.key("anna")
                let outcomes: [Outcome] = [
                    .applied(version: .zero, uids: [], conflicts: []),
                    .applied(
                        version: Version(.max),
                        uids: [AssignedUID(collection: "user", record: AuthorityStoreWorld.id(1), uid: UID(.max))],
                        conflicts: [conflict]),
                    .rejected(Rejection(code: .stillReferenced, message: "no: \"x\"\n", mutation: 3)),
                    .rejected(Rejection(code: RejectionCode(rawValue: "from_the_future"), message: "", mutation: nil)),
                ]
                try world.write { (transaction) throws(AuthorityStoreFailure) in
                    for (index, outcome) in outcomes.enumerated() {
                        try transaction.keep(
                            StoredOutcome(hash: PayloadHash(rawValue: "hash \(index)"), outcome: outcome), of: key,
                            MutationNumber(Int64(index)))
                    }
                }
                for (index, outcome) in outcomes.enumerated() {
                    let found = try world.read { (view) throws(AuthorityStoreFailure) in
                        try view.outcome(of: key, MutationNumber(Int64(index)))
                    }
                    try world.expect(
                        found, StoredOutcome(hash: PayloadHash(rawValue: "hash \(index)"), outcome: outcome),
                        "outcome \(index)")
                }
            },
            Check("forgetting outcomes takes one's own below the number, and no other") { world in
                let mine = AuthorityStoreWorld.key("anna", 1)
                let others = [
                    AuthorityStoreWorld.key("eve", 1), AuthorityStoreWorld.key("anna", 2),
                    AuthorityStoreWorld.key("anna", 1, incarnation: 1),
                ]
                let outcome = StoredOutcome(
                    hash: PayloadHash(rawValue: "h"), outcome: .applied(version: .zero, uids: [], conflicts: []))
                try world.write { (transaction) throws(AuthorityStoreFailure) in
                    for key in [mine] + others {
                        for number in 0..<4 { try transaction.keep(outcome, of: key, MutationNumber(Int64(number))) }
                    }
                    try transaction.forgetOutcomes(of: mine, below: MutationNumber(2))
                }
                func kept(_ key: LedgerKey) throws -> [Bool] {
                    try world.read { (view) throws(AuthorityStoreFailure) in
                        var kept: [Bool] = []
                        for number in 0..<4 {
                            kept.append(try view.outcome(of: key, MutationNumber(Int64(number))) != nil)
                        }
                        return kept
                    }
                }
                try world.expect(try kept(mine), [false, false, true, true], "one's own")
                for key in others { try world.expect(try kept(key), [true, true, true, true], "those of \(key)") }
            },
            Check("the journal of a space is read in order, in pages") { world in
                try world.write { (transaction) throws(AuthorityStoreFailure) in
                    for number in 1...5 {
                        try transaction.note(
                            conflict, in: .default, at: Version(Int64(number)),
                            by: AuthorityStoreWorld.author(Int64(number)))
                        try transaction.note(
                            conflict, in: "other", at: Version(100), by: AuthorityStoreWorld.author(0))
                    }
                }
                var found: [RecordedConflict] = []
                while true {
                    let page = try world.read { (view) throws(AuthorityStoreFailure) in
                        try view.conflicts(in: .default, after: found.last?.number ?? 0, limit: 2)
                    }
                    if page.isEmpty { break }
                    try world.expect(page.count <= 2, true, "whether \(page.count) rows are two at most")
                    found += page
                }
                try world.expect(found.map(\.version.rawValue), [1, 2, 3, 4, 5], "the versions")
                try world.expect(found.map(\.author), (1...5).map { AuthorityStoreWorld.author($0) }, "the authors")
                try world.expect(
                    found.map(\.conflict), Array(repeating: conflict, count: 5), "the conflicts")
            },
        ]
    }
}
