import SyncCore
import SyncModel

// Notices of this device's values that lost a conflict after the server had applied them.
extension LocalStoreConformance {
    var noticeBoundChecks: [Check] {
        guard let most = noticeEntries else { return [] }
        return [
            Check("notices beyond the journal's room for them wait on the server, and take no room from edits") {
                world in
                let id = try world.syncedUser("mine")
                func notices(_ numbers: ClosedRange<Int>) throws -> [ConflictNotice] {
                    try numbers.map {
                        try world.notice(
                            Int64($0), of: id, lost: "mine", to: .text("theirs"), at: Int64($0), time: UInt64($0))
                    }
                }
                for number in 1...most {
                    try world.expect(
                        try world.stored()?.notices?.after, is: Int64(number - 1), "the notice asked after")
                    try world.pull(world.feed([], to: 1, notices: try notices(number...number)))
                }
                try world.expect(try world.stored()?.notices, is: nil, "the notices that a full journal asks for")
                try world.expect(try world.store.session().waitsForRoomInJournal, "the user is not told")

                let page = world.feed(
                    [world.at(2, world.renamed(id, "theirs"))], to: 2, notices: try notices(most + 1...most + 2))
                try world.pull(page)
                try world.expect(try world.name(id), is: .text("theirs"), "the name after the page")
                try world.expect(try world.store.outboxSummary().journal, is: most, "the unhandled entries")
                _ = try world.written(.update("users", id, ["username": .text("mine again")]))

                let entry = try world.store.journal(state: .active, limit: 1)[0]
                try world.store.dismiss(journal: entry.number)
                try world.expect(try world.stored()?.notices?.after, is: Int64(most), "the notice asked after at last")
                try world.pull(world.feed([], to: 2, notices: try notices(most + 1...most + 1)))
                try world.expect(try world.store.outboxSummary().journal, is: most, "the unhandled entries at last")
            }
        ]
    }

    var noticeChecks: [Check] {
        [
            Check("a notice puts the losing value into the journal, once, and it can be written back") { world in
                let id = try world.syncedUser("mine")
                let renamed = world.at(2, world.renamed(id, "theirs"))
                let notice = try world.notice(1, of: id, lost: "mine", to: .text("theirs"), at: 2)
                try world.pull(world.feed([renamed], to: 2, notices: [notice]))
                let entries = try world.store.journal(state: .active, limit: 9)
                try world.expect(
                    entries.map(\.event), is: [.overwritten([notice.conflict], deleted: nil)], "the journal")
                try world.expect(try world.stored()?.notices?.after, is: 1, "the notice that is asked after")
                try world.expect(try world.store.outboxSummary().journal, is: 1, "the count of unseen entries")

                try world.pull(world.feed([], to: 2, notices: [notice]))
                try world.expect(try world.store.journal(state: nil, limit: 9).count, is: 1, "entries after a repeat")

                _ = try world.store.restore(journal: entries[0].number, now: world.now(), newID: world.newID)
                try world.expect(try world.name(id), is: .text("mine"), "the name after it was restored")
                let edit = try world.store.outbox(limit: 1).first?.transaction.mutations.first?.intent
                try world.expect(
                    edit,
                    is: .update([
                        FieldEdit(
                            field: "username", value: .text("mine"), before: .text("theirs"), seen: Version(2))
                    ]), "what is sent")
            },
            Check("a notice of a deletion keeps the whole record, which is made again under a new id") { world in
                let id = try world.syncedUser("mine")
                let notice = try world.notice(1, of: id, lost: "mine", to: .null, at: 2, rule: .deleteWins)
                try world.pull(world.feed([world.at(2, world.deleted(id))], to: 2, notices: [notice]))
                try world.expect(try world.user(id) == nil, "the deleted record is still there")
                let entry = try world.store.journal(state: .active, limit: 9)[0]
                guard case .overwritten(_, let deleted?) = entry.event else {
                    throw ConformanceViolation(rule: world.rule, detail: "the entry is \(entry.event)")
                }
                try world.expect(deleted.mutations.map(\.patch), is: [["username": .text("mine")]], "what is kept")
                _ = try world.store.restore(journal: entry.number, now: world.now(), newID: world.newID)
                try world.expect(try world.name(world.newID()), is: .text("mine"), "the name of the new record")
                try world.expect(try world.user(id) == nil, "the old id has come back")
            },
            Check("a notice for another client is passed over, and one from a copy with the same client id is not") {
                world in
                let id = try world.syncedUser("mine")
                let stranger = ClientID(bits: Identifier128(high: 5, low: 5))
                let own = try world.store.session().identity.client
                let notices = [
                    try world.notice(1, of: id, lost: "theirs", to: .text("x"), at: 1, loser: stranger),
                    try world.notice(2, of: id, lost: "mine", to: .text("the copy's"), at: 1, winner: own),
                ]
                try world.pull(world.feed([], to: 1, notices: notices))
                let entries = try world.store.journal(state: nil, limit: 9)
                try world.expect(entries.count, is: 1, "the entries")
                if case .overwritten(let conflicts, _)? = entries.first?.event {
                    try world.expect(conflicts.map(\.loser.value), is: [.text("mine")], "the value that is told")
                } else {
                    try world.expect(false, "the entry is \(entries)")
                }
                try world.expect(try world.stored()?.notices?.after, is: 2, "the notice that is asked after")
            },
            Check("another history numbers its notices again, and notices in the journal are not repeated") { world in
                let id = try world.syncedUser("mine")
                let notice = try world.notice(7, of: id, lost: "mine", to: .text("theirs"), at: 2)
                try world.pull(world.feed([world.at(2, world.renamed(id, "theirs"))], to: 2, notices: [notice]))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                try world.expect(try world.stored()?.notices?.after, is: 0, "the notice that is asked after")
                let again = ConflictNotice(number: 3, version: Version(2), conflict: notice.conflict)
                let other = try world.notice(4, of: id, lost: "also mine", to: .text("theirs"), at: 3, time: 9)
                let shown = SnapshotRows(
                    collection: "users", records: [world.shownUser(id, uid: 7, version: 3, "theirs")])
                try world.pull(world.snapshot([shown], at: 3, of: restored, notices: [again, other]))
                let told = try world.store.journal(state: nil, limit: 9).filter {
                    if case .overwritten = $0.event { true } else { false }
                }
                try world.expect(told.count, is: 2, "the entries")
                try world.expect(
                    told.first?.event, is: .overwritten([other.conflict], deleted: nil), "the newest entry")
            },
        ]
    }
}

extension StoreWorld {
    /// Returns a notice that a name written by this device lost a conflict.
    fileprivate func notice(
        _ number: Int64, of record: RecordID, lost: String, to winner: FieldValue, at version: Int64,
        rule: ConflictRule = .latestEdit, loser: ClientID? = nil, winner by: ClientID? = nil, time: UInt64 = 1
    ) throws -> ConflictNotice {
        let own = try store.session().identity.client
        let other = by ?? ClientID(bits: Identifier128(high: 8, low: 8))
        return ConflictNotice(
            number: number, version: Version(version),
            conflict: FieldConflict(
                collection: "users", record: record, field: "username", base: .null,
                winner: Contender(
                    value: winner, stamp: Stamp(time: HybridTime(rawValue: time + 1), client: other),
                    account: AccountID(rawValue: "other")),
                loser: Contender(
                    value: .text(lost), stamp: Stamp(time: HybridTime(rawValue: time), client: loser ?? own)),
                rule: rule))
    }
}
