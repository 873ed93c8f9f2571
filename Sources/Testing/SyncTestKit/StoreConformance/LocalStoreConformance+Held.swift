import SyncCore
import SyncModel

// Transactions that are held until the server knows their collections and fields.
extension LocalStoreConformance {
    var heldChecks: [Check] {
        [
            Check("a transaction that the server does not know is held with its dependants, and the rest is sent") {
                world in
                let (ada, _) = try world.createUser("ada")
                let (bob, _) = try world.createUser("bob")
                _ = try world.push()
                let avatar = world.id()
                let portrait = try world.written(.create("avatars", avatar, ["author": .reference(ada)]))
                let linked = try world.written(.update("users", bob, ["avatar": .reference(avatar)]))
                let renamed = try world.written(.update("users", ada, ["username": .text("ann")]))

                let batch = try world.push(.knowing(Self.withoutAvatars))
                try world.expect(
                    batch.transactions.flatMap(\.transaction.mutations).map(\.record), is: [ada, bob, ada],
                    "the records sent")
                var reasons: [OutboxSequence: String] = [:]
                for entry in try world.store.outbox(limit: 9) { reasons[entry.sequence] = entry.heldFor }
                try world.expect(reasons, is: [portrait: "avatars", linked: "avatars"], "what is held back")
                try world.expect(try world.store.outboxSummary().held, is: 2, "the count of held entries")
                try world.expect(
                    try world.store.fate(of: renamed), is: .pending(.sent(TransactionNumber(2), attempts: 1)),
                    "the fate")
            },
            Check("a field that the server does not know holds its transaction back, by its name") { world in
                let id = world.id()
                _ = try world.written(.create("users", id, ["username": .text("ada"), "age": .integer(40)]))
                let batch = try world.store.takeBatch(.knowing(Self.withoutAge), now: world.now())
                try world.expect(batch == nil, "the transaction was sent")
                try world.expect(try world.store.outbox(limit: 9).map(\.heldFor), is: ["users.age"], "the reason")
                try world.expect(
                    try world.store.outboxSummary().hasUnanswered, is: false, "whether something can be sent")
            },
            Check("held transactions are sent in their order once the server knows their collections") {
                world in
                let (ada, _) = try world.createUser("ada")
                let avatar = world.id()
                _ = try world.written(.create("avatars", avatar, ["author": .reference(ada)]))
                _ = try world.push(.knowing(Self.withoutAvatars))
                try world.response(.first, world.applied(1))
                _ = try world.written(.update("avatars", avatar, ["title": .text("me")]))
                let nothing = try world.store.takeBatch(.knowing(Self.withoutAvatars), now: world.now())
                try world.expect(nothing == nil, "an edit of a held record was sent")
                let batch = try world.push(.knowing(ServerModels(StoreWorld<Store>.catalog)))
                try world.expect(
                    batch.transactions.map(\.number), is: [TransactionNumber(1), TransactionNumber(2)], "the numbers")
                try world.expect(
                    batch.transactions.flatMap(\.transaction.createdRecords), is: [avatar], "the records created")
                try world.expect(try world.store.outboxSummary().held, is: 0, "the count of held entries")
            },
            Check("a batch is repeated in the order of its numbers, also when held transactions are older") { world in
                let (ada, _) = try world.createUser("ada")
                let avatar = world.id()
                _ = try world.push()
                try world.response(.first, world.applied(1))
                _ = try world.written(.create("avatars", avatar, ["author": .reference(ada)]))
                let (bob, _) = try world.createUser("bob")
                _ = try world.push(.knowing(Self.withoutAvatars))
                let everything = ServerModels(StoreWorld<Store>.catalog)
                for _ in 0..<2 {
                    let batch = try world.push(.knowing(everything))
                    try world.expect(
                        batch.transactions.map(\.number), is: [TransactionNumber(1), TransactionNumber(2)],
                        "the numbers")
                    try world.expect(
                        batch.transactions.flatMap(\.transaction.createdRecords), is: [bob, avatar], "the order")
                }
            },
            Check("a held transaction can be cancelled, and its dependants are cancelled with it") { world in
                let (ada, _) = try world.createUser("ada")
                _ = try world.push()
                let old = try world.written(.update("users", ada, ["age": .integer(40)]))
                _ = try world.store.takeBatch(
                    BatchLimit(transactions: 9, bytes: 9_999, models: Self.withoutAge), now: world.now())
                try world.expect(try world.store.outboxSummary().held, is: 1, "the count of held entries")
                try world.store.cancel(old, now: world.now())
                try world.expect(try world.store.outboxSummary().held, is: 0, "the count after the cancel")
                try world.expect(try world.user(ada)?.values[1], is: .null, "the value that was taken back")
                _ = try world.written(.update("users", ada, ["username": .text("ann")]))
                let batch = try world.push(.knowing(Self.withoutAge))
                try world.expect(batch.transactions.count, is: 2, "what can be sent")
            },
            Check("a server that turns out not to know a collection makes its transaction wait, and rejects nothing") {
                world in
                try world.sendHello()
                let (ada, sequence) = try world.createUser("ada")
                _ = try world.push()
                let unknown = Rejection(code: .unknownCollection, message: "there is no users", mutation: 0)
                let summary = try world.response(.first, .rejected(unknown))
                try world.expect(summary, is: OutboxSummary(waiting: 1, held: 1, bytes: summary.bytes), "the summary")
                try world.expect(try world.store.fate(of: sequence), is: .pending(.waiting), "the fate")
                try world.expect(try world.name(ada), is: .text("ada"), "the record")
                let batch = try world.push(.knowing(ServerModels(StoreWorld<Store>.catalog)))
                try world.expect(batch.transactions.map(\.number), is: [TransactionNumber(1)], "its next number")
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
