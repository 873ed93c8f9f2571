import SyncCore
import SyncModel

// Notices of this device's values that lost a conflict after the server had applied them.
extension LocalStoreConformance {
    var noticeBoundChecks: [Check] {
        guard let most = noticeEntries else { return [] }
        return [
            Check("notices beyond the journal's room for them wait on the server, and take no room from edits") {
                fixture in
                let id = try fixture.syncedUser("mine")
                func notices(_ numbers: ClosedRange<Int>) throws -> [ConflictNotice] {
                    try numbers.map {
                        try fixture.notice(
                            Int64($0), of: id, lost: "mine", to: .text("theirs"), at: Int64($0), time: UInt64($0))
                    }
                }
                for number in 1...most {
                    try fixture.expect(
                        try fixture.stored()?.notices?.after, is: Int64(number - 1), "the notice asked after")
                    try fixture.pull(fixture.feed([], to: 1, notices: try notices(number...number)))
                }
                try fixture.expect(try fixture.stored()?.notices, is: nil, "the notices that a full journal asks for")
                try fixture.expect(try fixture.store.session().waitsForRoomInJournal, "the user is not told")

                let page = fixture.feed(
                    [fixture.at(2, fixture.renamed(id, "theirs"))], to: 2, notices: try notices(most + 1...most + 2))
                try fixture.pull(page)
                try fixture.expect(try fixture.name(id), is: .text("theirs"), "the name after the page")
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: most, "the unhandled entries")
                _ = try fixture.written(.update("users", id, ["username": .text("mine again")]))

                let entry = try fixture.store.journal(state: .active, limit: 1)[0]
                try fixture.store.dismiss(journal: entry.number)
                try fixture.expect(
                    try fixture.stored()?.notices?.after, is: Int64(most), "the notice asked after at last")
                try fixture.pull(fixture.feed([], to: 2, notices: try notices(most + 1...most + 1)))
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: most, "the unhandled entries at last")
            }
        ]
    }

    var noticeChecks: [Check] {
        [
            Check("a notice puts the losing value into the journal, once, and it can be written back") { fixture in
                let id = try fixture.syncedUser("mine")
                let renamed = fixture.at(2, fixture.renamed(id, "theirs"))
                let notice = try fixture.notice(1, of: id, lost: "mine", to: .text("theirs"), at: 2)
                try fixture.pull(fixture.feed([renamed], to: 2, notices: [notice]))
                let entries = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(
                    entries.map(\.event), is: [.overwritten([notice.conflict], deleted: nil)], "the journal")
                try fixture.expect(try fixture.stored()?.notices?.after, is: 1, "the notice that is asked after")
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 1, "the count of active entries")

                try fixture.pull(fixture.feed([], to: 2, notices: [notice]))
                try fixture.expect(
                    try fixture.store.journal(state: nil, limit: 9).count, is: 1, "entries after a repeat")

                _ = try fixture.store.restore(journal: entries[0].number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(try fixture.name(id), is: .text("mine"), "the name after it was restored")
                let edit = try fixture.store.outbox(limit: 1).first?.transaction.mutations.first?.intent
                try fixture.expect(
                    edit,
                    is: .update([
                        FieldEdit(
                            field: "username", value: .text("mine"), before: .text("theirs"), seen: Version(2))
                    ]), "what is sent")
            },
            Check("notices that the server has removed are told once, and the others follow") { fixture in
                let id = try fixture.syncedUser("mine")
                let notice = try fixture.notice(9, of: id, lost: "mine", to: .text("theirs"), at: 1)
                try fixture.pull(fixture.feed([], to: 1, notices: [notice], noticesRemovedUpTo: 8))
                let entries = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(
                    entries.map(\.event),
                    is: [.overwritten([notice.conflict], deleted: nil), .noticesRemoved(in: .default)],
                    "the journal")
                try fixture.expect(try fixture.stored()?.notices?.after, is: 9, "the notice that is asked after")
                try fixture.pull(fixture.feed([], to: 1, noticesRemovedUpTo: 8))
                try fixture.expect(
                    try fixture.store.journal(state: nil, limit: 9).count, is: 2, "the entries after a late page")
                try fixture.pull(fixture.feed([], to: 1, noticesRemovedUpTo: 12))
                try fixture.expect(
                    try fixture.store.journal(state: nil, limit: 9).count, is: 2, "the entries after more were removed")
                try fixture.expect(try fixture.stored()?.notices?.after, is: 12, "the notice that is asked after then")

                let told = entries[1].number
                try fixture.expect(.missingRecord) {
                    _ = try fixture.store.restore(journal: told, now: fixture.now(), newID: fixture.newID)
                }
                try fixture.store.dismiss(journal: told)
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 1, "the unhandled entries")
                try fixture.pull(fixture.feed([], to: 1, noticesRemovedUpTo: 14))
                try fixture.expect(
                    try fixture.store.journal(state: .active, limit: 9).first?.event, is: .noticesRemoved(in: .default),
                    "the newest entry after the first one was dismissed, and more were removed")
            },
            Check("notices come again after the account has lost access and got it back") { fixture in
                let id = try fixture.syncedUser("mine")
                let notice = try fixture.notice(1, of: id, lost: "mine", to: .text("theirs"), at: 2)
                let renamed = fixture.at(2, fixture.renamed(id, "theirs"))
                try fixture.pull(fixture.feed([renamed], to: 2, notices: [notice]))
                _ = try fixture.vacate()
                try fixture.expect(try fixture.store.journal(state: nil, limit: 9).count, is: 0, "the journal")
                try fixture.expect(try fixture.stored()?.notices?.after, is: 0, "the notice that is asked after")
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 2, "theirs")])
                try fixture.pull(fixture.snapshot([rows], at: 2, notices: [notice]))
                try fixture.expect(
                    try fixture.store.journal(state: .active, limit: 9).map(\.event),
                    is: [.overwritten([notice.conflict], deleted: nil)], "the journal afterwards")
            },
            Check("a notice of a deletion keeps the whole record, which is made again under a new id") { fixture in
                let id = try fixture.syncedUser("mine")
                let notice = try fixture.notice(1, of: id, lost: "mine", to: .null, at: 2, rule: .deleteWins)
                try fixture.pull(fixture.feed([fixture.at(2, fixture.deleted(id))], to: 2, notices: [notice]))
                try fixture.expect(try fixture.user(id) == nil, "the deleted record is still there")
                let entry = try fixture.store.journal(state: .active, limit: 9)[0]
                guard case .overwritten(_, let deleted?) = entry.event else {
                    throw ConformanceViolation(rule: fixture.rule, detail: "the entry is \(entry.event)")
                }
                try fixture.expect(deleted.mutations.map(\.patch), is: [["username": .text("mine")]], "what is kept")
                _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(try fixture.name(fixture.newID()), is: .text("mine"), "the name of the new record")
                try fixture.expect(try fixture.user(id) == nil, "the old id has come back")
            },
            Check("a notice for another client is passed over, and one from a copy with the same client id is not") {
                fixture in
                let id = try fixture.syncedUser("mine")
                let stranger = ClientID(bits: Identifier128(high: 5, low: 5))
                let own = try fixture.store.session().identity.client
                let notices = [
                    try fixture.notice(1, of: id, lost: "theirs", to: .text("x"), at: 1, loser: stranger),
                    try fixture.notice(2, of: id, lost: "mine", to: .text("the copy's"), at: 1, winner: own),
                ]
                try fixture.pull(fixture.feed([], to: 1, notices: notices))
                let entries = try fixture.store.journal(state: nil, limit: 9)
                try fixture.expect(entries.count, is: 1, "the entries")
                if case .overwritten(let conflicts, _)? = entries.first?.event {
                    try fixture.expect(conflicts.map(\.loser.value), is: [.text("mine")], "the value that is told")
                } else {
                    try fixture.expect(false, "the entry is \(entries)")
                }
                try fixture.expect(try fixture.stored()?.notices?.after, is: 2, "the notice that is asked after")
            },
            Check("a value that was overwritten is restored even if the commit has not arrived yet") { fixture in
                let id = try fixture.syncedUser("mine")
                let notice = try fixture.notice(7, of: id, lost: "mine", to: .text("theirs"), at: 2)
                try fixture.pull(fixture.feed([], to: 1, head: 2, notices: [notice]))
                let entry = try fixture.store.journal(state: .active, limit: 9)[0]
                let writes = try fixture.store.restore(
                    journal: entry.number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(writes.count, is: 1, "the count of transactions")
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "theirs"))], to: 2))
                try fixture.expect(try fixture.name(id), is: .text("mine"), "the name after the pull")
            },
            Check("another history numbers its notices again, and notices in the journal are not repeated") { fixture in
                let id = try fixture.syncedUser("mine")
                let notice = try fixture.notice(7, of: id, lost: "mine", to: .text("theirs"), at: 2)
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "theirs"))], to: 2, notices: [notice]))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                try fixture.expect(try fixture.stored()?.notices?.after, is: 0, "the notice that is asked after")
                let again = ConflictNotice(number: 3, version: Version(2), conflict: notice.conflict)
                let other = try fixture.notice(4, of: id, lost: "also mine", to: .text("theirs"), at: 3, time: 9)
                let shown = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 3, "theirs")])
                try fixture.pull(fixture.snapshot([shown], at: 3, of: restored, notices: [again, other]))
                let told = try fixture.store.journal(state: nil, limit: 9).filter {
                    if case .overwritten = $0.event { true } else { false }
                }
                try fixture.expect(told.count, is: 2, "the entries")
                try fixture.expect(
                    told.first?.event, is: .overwritten([other.conflict], deleted: nil), "the newest entry")
            },
            Check("a server that has lost a notice numbers others again, and those in the journal are not repeated") {
                fixture in
                let id = try fixture.syncedUser("mine")
                let known = try fixture.notice(7, of: id, lost: "mine", to: .text("theirs"), at: 2)
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "theirs"))], to: 2, notices: [known]))
                try fixture.expect(
                    try fixture.stored()?.notices?.fingerprint, is: known.fingerprint, "the last fingerprint")
                let again = ConflictNotice(
                    number: 2, version: Version(2), conflict: known.conflict, fingerprint: known.fingerprint)
                let other = try fixture.notice(7, of: id, lost: "other", to: .text("theirs"), at: 2, time: 9)
                try fixture.pull(fixture.feed([], to: 2, notices: [again, other]))
                let newest = try fixture.store.journal(state: nil, limit: 9).first?.event
                try fixture.expect(newest, is: .overwritten([other.conflict], deleted: nil), "the newest entry")
                try fixture.expect(try fixture.stored()?.notices?.after, is: 7, "the last notice")
                try fixture.expect(try fixture.stored()?.notices?.fingerprint, is: other.fingerprint, "its fingerprint")
                let told = try fixture.store.journal(state: nil, limit: 9).filter {
                    if case .overwritten = $0.event { true } else { false }
                }
                try fixture.expect(told.count, is: 2, "the entries")
            },
        ]
    }
}

extension StoreFixture {
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
                rule: rule), fingerprint: NoticeFingerprint(bits: Identifier128(high: time, low: UInt64(number))))
    }
}
