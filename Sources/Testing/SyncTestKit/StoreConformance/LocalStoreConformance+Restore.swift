import SyncCore
import SyncModel

// Journal entries whose records, or the records that these require, were deleted.
extension LocalStoreConformance {
    private typealias Deletion = (StoreFixture<Store>, RecordID) throws -> Void

    /// Merges an edit of an avatar, deletes the avatar and then its author, and restores the losing value.
    private func restoresMerged(in fixture: StoreFixture<Store>, isDeleted: Deletion) throws {
        let (user, avatar) = try fixture.syncedAvatar()
        try fixture.commit(.update("avatars", avatar, ["title": .text("mine")]))
        let number = try fixture.push().transactions[0].number
        let conflict = try fixture.lostTitle(of: avatar)
        try fixture.response(number, fixture.applied(3, conflicts: [conflict]))
        // The scale changes between the merge and the deletion.
        try fixture.pull(fixture.feed([fixture.at(3, fixture.changed(avatar, ["scale": .real(2)]))], to: 3))
        let entry = try fixture.store.journal(state: .active, limit: 9)[0]
        try fixture.expect(entry.event, is: .merged([conflict]), "the entry")
        try isDeleted(fixture, avatar)
        try fixture.pull(fixture.feed([fixture.at(4, fixture.deletedAvatar(avatar))], to: 4))
        try fixture.pull(fixture.feed([fixture.at(5, fixture.deleted(user))], to: 5))
        try fixture.expectRemade(by: entry, ["title": .text("mine"), "scale": .real(2)])
    }

    /// Rejects the creation of an avatar whose author was deleted, and restores it.
    private func restoresCreation(in fixture: StoreFixture<Store>, pageIsFirst: Bool) throws {
        let user = try fixture.syncedUser("ada")
        let avatar = fixture.id()
        try fixture.commit(.create("avatars", avatar, ["author": .reference(user), "title": .text("mine")]))
        try fixture.commit(.update("avatars", avatar, ["scale": .real(2)]))
        let numbers = try fixture.push().transactions.map(\.number)
        let page = fixture.feed([fixture.at(2, fixture.deleted(user))], to: 2)
        if pageIsFirst { try fixture.pull(page) }
        try fixture.response(numbers[0], fixture.rejected(.danglingReference))
        try fixture.response(numbers[1], fixture.rejected(.missingRecord))
        if !pageIsFirst { try fixture.pull(page) }
        try fixture.expect(
            try fixture.store.journal(state: .active, limit: 9).map(\.number), is: [2, 1], "the journal")
        do {
            _ = try fixture.store.restore(journal: 2, now: fixture.now(), newID: fixture.newID)
            throw ConformanceViolation(rule: fixture.rule, detail: "the edit of a missing avatar was restored")
        } catch let failure as StoreError {
            try fixture.expect(failure.code, is: .missingRecord, "the code")
            try fixture.expect(failure.message.contains("restore entry 1 first"), "the message is \(failure.message)")
        }
        _ = try fixture.store.restore(journal: 1, now: fixture.now(), newID: fixture.newID)
        try fixture.expect(try fixture.name(fixture.newID()), is: .text("ada"), "the name of the new author")
        _ = try fixture.store.restore(journal: 2, now: fixture.now(), newID: fixture.newID)
        try fixture.expect(
            try fixture.store.record("avatars", .id(avatar))?.values,
            is: [.text("mine"), .reference(fixture.newID()), .real(2), .null], "the avatar")
        let kept = try fixture.store.outbox(limit: 9)[0].transaction
        try fixture.expect(Set(kept.createdRecords), is: [avatar, fixture.newID()], "what one transaction creates")
    }

    var restoreChecks: [Check] {
        [
            Check("a merged value is restored even if the kept value has not arrived yet") { fixture in
                let (_, avatar) = try fixture.syncedAvatar()
                try fixture.commit(.update("avatars", avatar, ["title": .text("mine")]))
                let number = try fixture.push().transactions[0].number
                let conflict = try fixture.lostTitle(of: avatar)
                try fixture.response(number, fixture.applied(3, conflicts: [conflict]))
                let entry = try fixture.store.journal(state: .active, limit: 9)[0]
                let writes = try fixture.store.restore(
                    journal: entry.number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(writes.count, is: 1, "the count of transactions")
                func title() throws -> FieldValue? { try fixture.store.record("avatars", .id(avatar))?.values[0] }
                try fixture.pull(
                    fixture.feed([fixture.at(3, fixture.changed(avatar, ["title": conflict.winner.value]))], to: 3))
                try fixture.expect(try title(), is: .text("mine"), "the title after the pull")
                let pushed = try fixture.push().transactions
                try fixture.expect(
                    pushed.map { $0.transaction.mutations.map(\.patch) }, is: [[["title": .text("mine")]]], "the push")
                // Now the record shows what the server has, and a restore has nothing to write.
                try fixture.response(pushed[0].number, fixture.applied(4))
                try fixture.pull(
                    fixture.feed([fixture.at(4, fixture.changed(avatar, ["title": .text("mine")]))], to: 4))
                try fixture.expect(try fixture.store.outboxSummary().count, is: 0, "the outbox")
            },
            Check("a merged value is restored with its whole record after another device deleted the record") {
                fixture in
                try restoresMerged(in: fixture) { _, _ in }
            },
            Check("a merged value is restored with its whole record after this device deleted the record") { fixture in
                try restoresMerged(in: fixture) { fixture, avatar in
                    try fixture.commit(.delete("avatars", avatar))
                    try fixture.response(try fixture.push().transactions[0].number, fixture.applied(4))
                }
            },
            Check("a merged value is restored with its whole record after a snapshot without the record") { fixture in
                try restoresMerged(in: fixture) { fixture, _ in
                    try fixture.store.resetCursor(of: fixture.space)
                    try fixture.pull(fixture.snapshot([], at: 3))
                }
            },
            Check("a merge that is reported after this device deleted the record keeps the whole record") { fixture in
                let (user, avatar) = try fixture.syncedAvatar()
                try fixture.commit(.update("avatars", avatar, ["title": .text("mine")]))
                let number = try fixture.push().transactions[0].number
                try fixture.commit(.delete("avatars", avatar))
                try fixture.commit(.delete("users", user))
                try fixture.response(number, fixture.applied(3, conflicts: [try fixture.lostTitle(of: avatar)]))
                let entry = try fixture.store.journal(state: .active, limit: 9)[0]
                for sent in try fixture.push().transactions {
                    try fixture.response(sent.number, fixture.applied(sent.number.rawValue + 3))
                }
                let commits = [
                    fixture.at(3, fixture.changed(avatar, ["scale": .real(2)])),
                    fixture.at(4, fixture.deletedAvatar(avatar)),
                    fixture.at(5, fixture.deleted(user)),
                ]
                try fixture.pull(fixture.feed(commits, to: 5))
                try fixture.expectRemade(by: entry, ["title": .text("mine")])
            },
            Check("an overwritten value is restored with its record, and the author that was deleted later") {
                fixture in
                let (user, avatar) = try fixture.syncedAvatar()
                let conflict = try fixture.lostTitle(of: avatar, rule: .deleteWins)
                let notice = ConflictNotice(number: 1, version: Version(3), conflict: conflict)
                let page = fixture.feed([fixture.at(3, fixture.deletedAvatar(avatar))], to: 3, notices: [notice])
                try fixture.pull(page)
                try fixture.pull(fixture.feed([fixture.at(4, fixture.deleted(user))], to: 4))
                try fixture.expectRemade(
                    by: try fixture.store.journal(state: .active, limit: 9)[0], ["title": .text("mine")])
            },
            Check("an overwritten value is restored with a record that was deleted later") { fixture in
                let (user, avatar) = try fixture.syncedAvatar()
                let notice = ConflictNotice(
                    number: 1, version: Version(3), conflict: try fixture.lostTitle(of: avatar))
                let changed = fixture.changed(avatar, ["title": .text("theirs")])
                try fixture.pull(fixture.feed([fixture.at(3, changed)], to: 3, notices: [notice]))
                try fixture.pull(
                    fixture.feed([fixture.at(4, fixture.deletedAvatar(avatar), fixture.deleted(user))], to: 4))
                try fixture.expectRemade(
                    by: try fixture.store.journal(state: .active, limit: 9)[0], ["title": .text("mine")])
            },
            Check("a reference to a record that a later restored entry creates is set then") { fixture in
                let (author, ada) = (try fixture.syncedUser("author"), fixture.id())
                try fixture.pull(fixture.feed([fixture.at(2, fixture.created(ada, uid: 8, "ada"))], to: 2))
                let avatar = fixture.id()
                let first = try fixture.written(
                    .create("avatars", avatar, ["author": .reference(author), "title": .text("mine")]))
                _ = try fixture.written(
                    .update("users", ada, ["username": .text("eve"), "avatar": .reference(avatar)]))
                // This cancels the edit, too, because the edit refers to the avatar.
                try fixture.store.cancel(first, now: fixture.now())
                try fixture.pull(fixture.feed([fixture.at(3, fixture.deleted(ada))], to: 3))
                _ = try fixture.store.restore(journal: 2, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(
                    try fixture.user(fixture.newID())?.values, is: [.text("eve"), .null, .null, .null],
                    "the user before the avatar is there")
                try fixture.expect(
                    try fixture.store.droppedReferences(),
                    is: [
                        DroppedReference(
                            record: RecordAddress("users", fixture.newID()), field: "avatar",
                            target: RecordAddress("avatars", avatar))
                    ], "the references that were left out")
                _ = try fixture.store.restore(journal: 1, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(
                    try fixture.user(fixture.newID())?.values, is: [.text("eve"), .null, .null, .reference(avatar)],
                    "the user")
                try fixture.expect(
                    try fixture.store.droppedReferences(), is: [], "the references after the avatar is there")
            },
            Check("a creation that was rejected because a page had deleted a required record is restored with it") {
                fixture in
                try restoresCreation(in: fixture, pageIsFirst: true)
            },
            Check("a creation that was rejected before a page deletes a required record is restored with it") {
                fixture in
                try restoresCreation(in: fixture, pageIsFirst: false)
            },
            Check(
                "a required record whose new creation was cancelled is named, and created again once that is dismissed"
            ) {
                fixture in
                let (user, avatar) = try fixture.syncedAvatar()
                try fixture.commit(.update("users", user, ["username": .text("eve")]))
                try fixture.commit(.update("avatars", avatar, ["title": .text("mine")]))
                let sent = try fixture.push().transactions.map(\.number)
                try fixture.pull(
                    fixture.feed([fixture.at(3, fixture.deletedAvatar(avatar), fixture.deleted(user))], to: 3))
                for number in sent { try fixture.response(number, fixture.rejected(.recordDeleted)) }
                let again = try fixture.store.restore(journal: 1, now: fixture.now()) {
                    RecordID(bits: .init(high: 5, low: 5))
                }
                try fixture.store.cancel(again[0], now: fixture.now())
                do {
                    _ = try fixture.store.restore(journal: 2, now: fixture.now(), newID: fixture.newID)
                    throw ConformanceViolation(rule: fixture.rule, detail: "the avatar is restored without its author")
                } catch let error as StoreError {
                    try fixture.expect(error.message.hasSuffix("restore entry 3 first"), error.message)
                }
                try fixture.store.dismiss(journal: 3)
                _ = try fixture.store.restore(journal: 2, now: fixture.now(), newID: fixture.newID)
                let made = try fixture.store.record("avatars", .id(fixture.newID()))
                try fixture.expect(made?.values[1], is: .reference(fixture.newID()), "the author of the new avatar")
                // The dismissed entry then changes the new record, and creates no second one.
                _ = try fixture.store.restore(journal: 3, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(try fixture.store.count(matching: RecordQuery("users")), is: 1, "the users")
                try fixture.expect(try fixture.name(fixture.newID()), is: .text("eve"), "the name of the author")
            },
            Check("a space that is vacated leaves no values of its deleted records behind") { fixture in
                let user = try fixture.syncedUser("ada")
                try fixture.commit(.create("avatars", fixture.id(), ["author": .reference(user)]))
                let number = try fixture.push().transactions[0].number
                try fixture.pull(fixture.feed([fixture.at(2, fixture.deleted(user))], to: 2))
                _ = try fixture.vacate()
                try fixture.response(number, fixture.rejected(.danglingReference))
                try fixture.expect(
                    try fixture.store.journal(state: nil, limit: 9).map(\.records), is: [nil], "what is kept")
            },
        ]
    }
}

extension StoreFixture {
    /// Pulls a new user and an avatar that requires it, and returns their ids.
    fileprivate func syncedAvatar() throws -> (user: RecordID, avatar: RecordID) {
        let (user, avatar) = (try syncedUser("ada"), id())
        let values: Patch = ["author": .reference(user), "title": .text("old"), "scale": .real(1)]
        let created = RecordChange(collection: "avatars", id: avatar, effect: .created(uid: UID(8), values))
        try pull(feed([at(2, created)], to: 2))
        return (user, avatar)
    }

    fileprivate func changed(_ avatar: RecordID, _ values: Patch) -> RecordChange {
        RecordChange(collection: "avatars", id: avatar, effect: .updated(values))
    }

    fileprivate func deletedAvatar(_ avatar: RecordID) -> RecordChange {
        RecordChange(collection: "avatars", id: avatar, effect: .deleted)
    }

    /// Returns a conflict that this device's title of an avatar lost.
    fileprivate func lostTitle(of avatar: RecordID, rule: ConflictRule = .latestEdit) throws -> FieldConflict {
        let own = try store.session().identity.client
        let other = ClientID(bits: Identifier128(high: 8, low: 8))
        return FieldConflict(
            collection: "avatars", record: avatar, field: "title", base: .text("old"),
            winner: Contender(
                value: rule == .deleteWins ? .null : .text("theirs"),
                stamp: Stamp(time: HybridTime(rawValue: 2), client: other)),
            loser: Contender(value: .text("mine"), stamp: Stamp(time: HybridTime(rawValue: 1), client: own)),
            rule: rule)
    }

    /// Restores an entry about a deleted avatar, and expects a new avatar with these values by a new user.
    fileprivate func expectRemade(by entry: JournalEntry, _ values: Patch) throws {
        try expect(try store.count(matching: RecordQuery("avatars")), is: 0, "the avatars before")
        try expect(try store.count(matching: RecordQuery("users")), is: 0, "the users before")
        _ = try store.restore(journal: entry.number, now: now(), newID: newID)
        guard let avatar = try store.record("avatars", .id(newID())) else {
            throw ConformanceViolation(rule: rule, detail: "there is no new avatar")
        }
        for (field, value) in values {
            let position = store.catalog["avatars"]?.position(of: field) ?? 0
            try expect(avatar.values[position], is: value, "the \(field) of the new avatar")
        }
        try expect(avatar.values[1], is: .reference(newID()), "the author of the new avatar")
        try expect(try name(newID()), is: .text("ada"), "the name of the new author")
        try expect(try store.outboxSummary().activeJournalEntries, is: 0, "the count of active entries")
    }
}
