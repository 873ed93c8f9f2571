import SyncCore
import SyncModel

// Transactions that are held back until the server knows their collections and fields.
extension LocalStoreConformance {
    var heldChecks: [Check] {
        [
            Check("a transaction that the server does not know is held with its dependants, and the rest is sent") {
                fixture in
                let (ada, _) = try fixture.createUser("ada")
                let (bob, _) = try fixture.createUser("bob")
                _ = try fixture.push()
                let avatar = fixture.id()
                let portrait = try fixture.written(.create("avatars", avatar, ["author": .reference(ada)]))
                let linked = try fixture.written(.update("users", bob, ["avatar": .reference(avatar)]))
                let renamed = try fixture.written(.update("users", ada, ["username": .text("ann")]))

                let batch = try fixture.push(.knowing(Self.withoutAvatars))
                try fixture.expect(
                    batch.transactions.flatMap(\.transaction.mutations).map(\.record), is: [ada, bob, ada],
                    "the records sent")
                var reasons: [OutboxSequence: String] = [:]
                for entry in try fixture.store.outbox(limit: 9) { reasons[entry.sequence] = entry.heldFor }
                try fixture.expect(reasons, is: [portrait: "avatars", linked: "avatars"], "what is held back")
                try fixture.expect(try fixture.store.outboxSummary().held, is: 2, "the count of held entries")
                try fixture.expect(
                    try fixture.store.fate(of: renamed), is: .pending(.sent(TransactionNumber(2), attempts: 1)),
                    "the fate")
            },
            Check("a field that the server does not know holds its transaction back, by its name") { fixture in
                let id = fixture.id()
                _ = try fixture.written(.create("users", id, ["username": .text("ada"), "age": .integer(40)]))
                let batch = try fixture.store.takeBatch(.knowing(Self.withoutAge), now: fixture.now())
                try fixture.expect(batch == nil, "the transaction was sent")
                try fixture.expect(try fixture.store.outbox(limit: 9).map(\.heldFor), is: ["users.age"], "the reason")
                try fixture.expect(
                    try fixture.store.outboxSummary().hasUnanswered, is: false, "whether something can be sent")
            },
            Check("held transactions are sent in their order once the server knows their collections") {
                fixture in
                let (ada, _) = try fixture.createUser("ada")
                let avatar = fixture.id()
                _ = try fixture.written(.create("avatars", avatar, ["author": .reference(ada)]))
                _ = try fixture.push(.knowing(Self.withoutAvatars))
                try fixture.response(.first, fixture.applied(1))
                _ = try fixture.written(.update("avatars", avatar, ["title": .text("me")]))
                let nothing = try fixture.store.takeBatch(.knowing(Self.withoutAvatars), now: fixture.now())
                try fixture.expect(nothing == nil, "an edit of a held record was sent")
                let batch = try fixture.push(.knowing(ServerModels(StoreFixture<Store>.catalog)))
                try fixture.expect(
                    batch.transactions.map(\.number), is: [TransactionNumber(1), TransactionNumber(2)], "the numbers")
                try fixture.expect(
                    batch.transactions.flatMap(\.transaction.createdRecords), is: [avatar], "the records created")
                try fixture.expect(try fixture.store.outboxSummary().held, is: 0, "the count of held entries")
            },
            Check("a batch is repeated in the order of its numbers, also when held transactions are older") { fixture in
                let (ada, _) = try fixture.createUser("ada")
                let avatar = fixture.id()
                _ = try fixture.push()
                try fixture.response(.first, fixture.applied(1))
                _ = try fixture.written(.create("avatars", avatar, ["author": .reference(ada)]))
                let (bob, _) = try fixture.createUser("bob")
                _ = try fixture.push(.knowing(Self.withoutAvatars))
                let everything = ServerModels(StoreFixture<Store>.catalog)
                for _ in 0..<2 {
                    let batch = try fixture.push(.knowing(everything))
                    try fixture.expect(
                        batch.transactions.map(\.number), is: [TransactionNumber(1), TransactionNumber(2)],
                        "the numbers")
                    try fixture.expect(
                        batch.transactions.flatMap(\.transaction.createdRecords), is: [bob, avatar], "the order")
                }
            },
            Check("a held transaction can be cancelled, and its dependants are cancelled with it") { fixture in
                let (ada, _) = try fixture.createUser("ada")
                _ = try fixture.push()
                let old = try fixture.written(.update("users", ada, ["age": .integer(40)]))
                _ = try fixture.store.takeBatch(
                    BatchLimit(transactions: 9, bytes: 9_999, models: Self.withoutAge), now: fixture.now())
                try fixture.expect(try fixture.store.outboxSummary().held, is: 1, "the count of held entries")
                try fixture.store.cancel(old, now: fixture.now())
                try fixture.expect(try fixture.store.outboxSummary().held, is: 0, "the count after the cancel")
                try fixture.expect(try fixture.user(ada)?.values[1], is: .null, "the value that was taken back")
                _ = try fixture.written(.update("users", ada, ["username": .text("ann")]))
                let batch = try fixture.push(.knowing(Self.withoutAge))
                try fixture.expect(batch.transactions.count, is: 2, "what can be sent")
            },
            Check("a server that turns out not to know a collection makes its transaction wait, and rejects nothing") {
                fixture in
                try fixture.sendHello()
                let (ada, sequence) = try fixture.createUser("ada")
                _ = try fixture.push()
                let unknown = Rejection(code: .unknownCollection, message: "there is no users", mutation: 0)
                let summary = try fixture.response(.first, .rejected(unknown))
                try fixture.expect(summary, is: OutboxSummary(waiting: 1, held: 1, bytes: summary.bytes), "the summary")
                try fixture.expect(try fixture.store.fate(of: sequence), is: .pending(.waiting), "the fate")
                try fixture.expect(try fixture.name(ada), is: .text("ada"), "the record")
                let batch = try fixture.push(.knowing(ServerModels(StoreFixture<Store>.catalog)))
                try fixture.expect(batch.transactions.map(\.number), is: [TransactionNumber(1)], "its next number")
            },
            Check("transactions that need a record whose creation waits for the server's models wait with it") {
                fixture in
                let bob = try fixture.syncedUser("bob")
                let (ada, created) = try fixture.createUser("ada")
                let edited = try fixture.written(.update("users", ada, ["username": .text("ann")]))
                let referring = try fixture.written(
                    .create("avatars", fixture.id(), ["title": .text("a"), "author": .reference(ada)]))
                let other = try fixture.written(.update("users", bob, ["username": .text("eve")]))
                let numbers = try fixture.push().transactions.map(\.number)
                let codes: [RejectionCode] = [.unknownField, .missingRecord, .danglingReference, .missingRecord]
                for (number, code) in zip(numbers, codes) {
                    try fixture.response(
                        number, .rejected(Rejection(code: code, message: "not there", mutation: 0)))
                }
                for sequence in [created, edited, referring] {
                    try fixture.expect(try fixture.store.fate(of: sequence), is: .pending(.waiting), "the fate")
                }
                let fate = try fixture.store.fate(of: other)
                guard case .rejected = fate else {
                    throw ConformanceViolation(rule: fixture.rule, detail: "the edit of another record is \(fate)")
                }
                try fixture.expect(try fixture.store.outboxSummary().held, is: 3, "the count of held entries")
                try fixture.expect(try fixture.name(ada), is: .text("ann"), "the record")
                let again = try fixture.push(.knowing(ServerModels(StoreFixture<Store>.catalog)))
                try fixture.expect(again.transactions.count, is: 3, "what is sent again")
                try fixture.expect(again.transactions[0].transaction.createdRecords, is: [ada], "what comes first")
            },
            Check("a transaction that a server turned out not to know is sent again when nothing else is to be sent") {
                fixture in
                let everything = ServerModels(StoreFixture<Store>.catalog)
                let unknown = Rejection(code: .unknownCollection, message: "there is no users", mutation: 0)
                let (ada, _) = try fixture.createUser("ada")
                _ = try fixture.push(.knowing(everything))
                try fixture.response(.first, .rejected(unknown))
                let (bob, _) = try fixture.createUser("bob")
                let others = try fixture.push(.knowing(everything))
                try fixture.expect(
                    others.transactions.flatMap(\.transaction.createdRecords), is: [bob], "what is sent first")
                try fixture.response(TransactionNumber(1), fixture.applied(1))
                let batch = try fixture.push(.knowing(everything))
                try fixture.expect(batch.transactions.map(\.number), is: [TransactionNumber(2)], "its next number")
                try fixture.expect(
                    batch.transactions.flatMap(\.transaction.createdRecords), is: [ada], "what is sent again")
                try fixture.expect(try fixture.store.outboxSummary().held, is: 0, "the count of held entries")
            },
            Check("a transaction that waits for the server's models loses the edits that later ones have replaced") {
                fixture in
                let ada = try fixture.editBeforeUpgrade()
                try fixture.response(TransactionNumber(2), fixture.applied(2))
                let batch = try fixture.push(.knowing(ServerModels(StoreFixture<Store>.catalog)))
                let edits = batch.transactions.flatMap(\.transaction.mutations).map(\.patch)
                try fixture.expect(edits, is: [["age": .integer(40)]], "what is sent later")
                let values = try fixture.user(ada)?.values.prefix(2)
                try fixture.expect(values, is: [.text("eve"), .integer(40)], "the record")
            },
            Check("of several transactions that wait for the server's models, each loses the edits that were replaced")
            {
                fixture in
                let (ada, _) = try fixture.createUser("ada")
                let (bob, _) = try fixture.createUser("bob")
                _ = try fixture.push()
                try fixture.response(.first, fixture.applied(1))
                try fixture.response(TransactionNumber(1), fixture.applied(2))
                _ = try fixture.written(.update("users", ada, ["age": .integer(1)]))
                _ = try fixture.push()
                _ = try fixture.written(.update("users", bob, ["username": .text("bo"), "age": .integer(2)]))
                _ = try fixture.push()
                _ = try fixture.written(.delete("users", ada), .update("users", bob, ["username": .text("eve")]))
                _ = try fixture.push()
                let unknown = Rejection(code: .unknownField, message: "there is no age", mutation: 0)
                try fixture.response(TransactionNumber(2), .rejected(unknown))
                try fixture.response(TransactionNumber(3), .rejected(unknown))
                try fixture.response(TransactionNumber(4), fixture.applied(3))
                let batch = try fixture.push(.knowing(ServerModels(StoreFixture<Store>.catalog)))
                let edits = batch.transactions.flatMap(\.transaction.mutations).map(\.patch)
                try fixture.expect(edits, is: [["age": .integer(2)]], "what is sent later")
            },
            Check("a transaction that waits is not sent before the outcome of a later one of its record is known") {
                fixture in
                _ = try fixture.editBeforeUpgrade()
                // The server is upgraded before it has answered the other one.
                let everything = ServerModels(StoreFixture<Store>.catalog)
                _ = try fixture.push(.knowing(Self.withoutAvatars))
                let again = try fixture.push(.knowing(everything))
                try fixture.expect(again.transactions.map(\.number), is: [TransactionNumber(2)], "what is sent again")
                try fixture.response(TransactionNumber(2), fixture.applied(2))
                let batch = try fixture.push(.knowing(everything))
                let edits = batch.transactions.flatMap(\.transaction.mutations).map(\.patch)
                try fixture.expect(edits, is: [["age": .integer(40)]], "what is sent later")
            },
            Check("models for which another transaction was held before do not keep one that they have") { fixture in
                let (ada, _) = try fixture.createUser("ada")
                let old = try fixture.written(.update("users", ada, ["age": .integer(40)]))
                _ = try fixture.push(.knowing(Self.withoutAge))
                try fixture.response(.first, fixture.applied(1))
                try fixture.store.cancel(old, now: fixture.now())
                _ = try fixture.written(.update("users", ada, ["username": .text("ann")]))
                _ = try fixture.push(.knowing(Self.withoutAge))
                let unknown = Rejection(code: .unknownCollection, message: "there is no users", mutation: 0)
                let summary = try fixture.response(TransactionNumber(1), .rejected(unknown))
                try fixture.expect(summary.held, is: 1, "the count of held entries")
                let batch = try fixture.push(.knowing(Self.withoutAge))
                try fixture.expect(batch.transactions.map(\.number), is: [TransactionNumber(2)], "its next number")
            },
        ]
    }

    private static var withoutAvatars: ServerModels {
        ServerModels(["users": ["username", "age", "active", "avatar"]])
    }

    private static var withoutAge: ServerModels {
        ServerModels(["users": ["username", "active", "avatar"], "avatars": ["title", "author", "scale", "kind"]])
    }
}

extension BatchLimit {
    fileprivate static func knowing(_ models: ServerModels) -> BatchLimit {
        BatchLimit(transactions: 1_000, bytes: 1_000_000, models: models)
    }
}

extension StoreFixture {
    /// Sends two edits of a user, and rejects the first because the server does not know one of its fields. Returns the
    /// user.
    fileprivate func editBeforeUpgrade() throws -> RecordID {
        let (ada, _) = try createUser("ada")
        _ = try push()
        try response(.first, applied(1))
        _ = try written(.update("users", ada, ["username": .text("ann"), "age": .integer(40)]))
        _ = try push()
        _ = try written(.update("users", ada, ["username": .text("eve")]))
        _ = try push()
        let unknown = Rejection(code: .unknownField, message: "there is no age", mutation: 0)
        try response(TransactionNumber(1), .rejected(unknown))
        return ada
    }
}
