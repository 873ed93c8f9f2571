import SyncCore
import SyncModel

// A device that loses read access to a space keeps only its own edits there (I21).
extension LocalStoreConformance {
    var accessChecks: [Check] {
        [
            Check("losing access to a space removes the server's records of it") { world in
                let id = try world.syncedUser()
                let other = SnapshotRows(
                    collection: "users", records: [world.shownUser(world.id(), uid: 8, version: 1, "bo")])
                try world.pull(world.snapshot([other], at: 1, in: "elsewhere"))
                let vacated = try world.vacate()
                try world.expect(vacated.removedRecords, is: 1, "the count of removed records")
                try world.expect(try world.user(id) == nil, "a record of the space is still shown")
                try world.expect(try world.user(other.records[0].id) != nil, "a record of another space is gone")
                let stored = StoredSpace(
                    space: world.space, cursor: nil, version: .zero, isComplete: false, hasAccess: false,
                    notices: try world.wantsNotices())
                try world.expect(vacated.stored, is: stored, "what is told of the space")
                try world.expect(try world.stored(), is: stored, "what is stored of the space")
                try world.expect(
                    try world.vacate(),
                    is: VacatedSpace(
                        stored: stored, outbox: OutboxSummary(), removedRecords: 0), "a second response")
            },
            Check("pending writes to a space without access stay until the server refuses them") { world in
                let id = try world.syncedUser()
                let edit = try world.written(.update("users", id, ["age": .integer(41)]))
                let (made, creation) = try world.createUser("bo")
                try world.expect(
                    try world.vacate().removedRecords, is: 1, "the count of removed records")
                try world.expect(try world.user(id) == nil, "an edited record of the space is still shown")
                try world.expect(try world.name(made), is: .text("bo"), "the name of a record of this device")
                try world.expect(try world.store.fate(of: edit), is: .pending(.waiting), "the fate of the edit")
                let batch = try world.push()
                try world.expect(batch.transactions.count, is: 2, "the count of what is sent")
                for sent in batch.transactions { try world.response(sent.number, world.rejected()) }
                try world.expect(try world.user(made) == nil, "a refused record is still shown")
                let kept = try world.store.journal(state: .active, limit: 9).compactMap { entry in
                    if case .rejected(let transaction, _) = entry.event { (entry.sequence, transaction) } else { nil }
                }
                try world.expect(kept.map(\.0), is: [creation, edit], "what the journal keeps")
                try world.expect(
                    kept.last?.1.mutations.map(\.patch), is: [["age": .integer(41)]], "what it keeps of the edit")
            },
            Check("a transaction answered before access was lost is confirmed without a page") { world in
                try world.sendHello()
                let (id, creation) = try world.createUser()
                try world.response(try world.push().transactions[0].number, world.applied(3))
                let vacated = try world.vacate()
                try world.expect(vacated.outbox.count, is: 0, "the count of what is unconfirmed")
                try world.expect(try world.user(id) == nil, "a record that the server has is still shown")
                guard case .confirmed = try world.store.fate(of: creation) else {
                    throw ConformanceViolation(rule: world.rule, detail: "its fate is not to be confirmed")
                }

                // The same holds when the response comes after the access is lost.
                let (late, _) = try world.createUser("late")
                try world.response(try world.push().transactions[0].number, world.applied(4))
                try world.expect(try world.vacate().outbox.count, is: 0, "the count of what is unconfirmed")
                try world.expect(try world.user(late) == nil, "a late record is still shown")
            },
            Check("losing access removes values of others from the journal, and keeps rejected transactions") { world in
                let id = try world.syncedUser()
                _ = try world.written(.update("users", id, ["username": .text("mine")]))
                let sent = try world.push().transactions[0]
                let stamp = Stamp(time: .zero, client: try world.store.session().identity.client)
                let conflict = FieldConflict(
                    collection: "users", record: id, field: "username", base: .text("ada"),
                    winner: .init(value: .text("theirs"), stamp: stamp),
                    loser: .init(value: .text("mine"), stamp: stamp), rule: .latestEdit)
                try world.response(sent.number, world.applied(2, conflicts: [conflict]))
                let (_, refused) = try world.createUser("refused")
                let number = try world.push().transactions[0].number
                try world.response(number, world.rejected())
                try world.expect(try world.store.outboxSummary().journal, is: 2, "the count of the journal")
                _ = try world.vacate()
                let left = try world.store.journal(state: nil, limit: 9)
                try world.expect(left.map(\.sequence), is: [refused], "what the journal keeps")
                try world.expect(try world.store.outboxSummary().journal, is: 1, "the count of the journal afterwards")
            },
            Check("values of a lost history are not offered in a space without access") { world in
                let id = try world.syncedUser()
                try world.pull(world.snapshot([], at: 1, in: "elsewhere"))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                try world.pull(world.snapshot([], at: 1, of: restored))
                try world.expect(try world.offers().map(\.record), is: [id], "what is offered before")
                _ = try world.vacate("elsewhere", of: restored)
                try world.expect(try world.offers().map(\.record), is: [id], "what is offered of a space with access")
                _ = try world.vacate(of: restored)
                try world.expect(try world.offers().map(\.record), is: [], "what is offered afterwards")
            },
            Check("another history does not delete records that it has never shown, without consent") {
                world in
                let id = try world.syncedUser()
                let brake = DeleteBrake(records: 50, percent: 30)
                let other = Epoch(rawValue: "another server")
                _ = try world.store.adopt(other, as: world.account)
                try world.expect(
                    try world.store.vacate(world.space, of: other, brake: brake), is: .braked(deletes: 1, of: 1),
                    "the result")
                try world.expect(try world.user(id) != nil, "a record is gone without consent")
                try world.expect(try world.stored()?.hasAccess, is: true, "the access")
                try world.expect(
                    try world.vacate(of: world.epoch).removedRecords, is: 0, "what a former history removes")
                try world.expect(try world.vacate(of: other).removedRecords, is: 1, "what is removed with consent")
            },
            Check("a pending record does not take the uid of the same id in a vacated space") { world in
                let (id, _) = try world.createUser("mine")
                try world.sendHello()
                let theirs = SnapshotRows(
                    collection: "users", records: [world.shownUser(id, uid: 7, version: 1, "theirs")])
                try world.pull(world.snapshot([theirs], at: 1, in: "elsewhere"))
                _ = try world.vacate("elsewhere")
                try world.expect(try world.name(id), is: .text("mine"), "its name")
                try world.expect(try world.user(id)?.uid, is: UID.none, "its uid")
            },
            Check("access comes back with a snapshot, which is not older than what was shown") { world in
                let id = try world.syncedUser()
                try world.pull(world.feed([world.at(2, world.renamed(id, "bo"))], to: 2))
                _ = try world.vacate()
                let old = SnapshotRows(collection: "users", records: [world.shownUser(id, uid: 7, version: 1, "ada")])
                try world.expect(.contradiction) {
                    _ = try world.store.apply(world.snapshot([old], at: 1), after: nil, brake: nil, now: world.now())
                }
                try world.expect(try world.stored()?.hasAccess, is: false, "the access after a stale page")
                let new = SnapshotRows(collection: "users", records: [world.shownUser(id, uid: 7, version: 3, "cy")])
                try world.pull(world.snapshot([new], at: 3))
                try world.expect(try world.name(id), is: .text("cy"), "its name")
                try world.expect(try world.stored()?.hasAccess, is: true, "the access")
                try world.expect(try world.stored()?.isComplete, is: true, "the completeness")
            },
        ]
    }
}
