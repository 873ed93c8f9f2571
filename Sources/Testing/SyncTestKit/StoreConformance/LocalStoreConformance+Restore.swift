import SyncCore
import SyncModel

// Journal entries whose records, or the records that these require, were deleted.
extension LocalStoreConformance {
    private typealias Deletion = (StoreWorld<Store>, RecordID) throws -> Void

    /// Merges an edit of an avatar, deletes the avatar and then its author, and restores the losing value.
    private func restoresMerged(in world: StoreWorld<Store>, isDeleted: Deletion) throws {
        let (user, avatar) = try world.syncedAvatar()
        try world.commit(.update("avatars", avatar, ["title": .text("mine")]))
        let number = try world.push().transactions[0].number
        let conflict = try world.lostTitle(of: avatar)
        try world.response(number, world.applied(3, conflicts: [conflict]))
        // The scale changes between the merge and the deletion.
        try world.pull(world.feed([world.at(3, world.changed(avatar, ["scale": .real(2)]))], to: 3))
        let entry = try world.store.journal(state: .active, limit: 9)[0]
        try world.expect(entry.event, is: .merged([conflict]), "the entry")
        try isDeleted(world, avatar)
        try world.pull(world.feed([world.at(4, world.deletedAvatar(avatar))], to: 4))
        try world.pull(world.feed([world.at(5, world.deleted(user))], to: 5))
        try world.expectRemade(by: entry, ["title": .text("mine"), "scale": .real(2)])
    }

    /// Rejects the creation of an avatar whose author was deleted, and restores it.
    private func restoresCreation(in world: StoreWorld<Store>, pageIsFirst: Bool) throws {
        let user = try world.syncedUser("ada")
        let avatar = world.id()
        try world.commit(.create("avatars", avatar, ["author": .reference(user), "title": .text("mine")]))
        try world.commit(.update("avatars", avatar, ["scale": .real(2)]))
        let numbers = try world.push().transactions.map(\.number)
        let page = world.feed([world.at(2, world.deleted(user))], to: 2)
        if pageIsFirst { try world.pull(page) }
        try world.response(numbers[0], world.rejected(.danglingReference))
        try world.response(numbers[1], world.rejected(.missingRecord))
        if !pageIsFirst { try world.pull(page) }
        try world.expect(try world.store.journal(state: .active, limit: 9).map(\.number), is: [2, 1], "the journal")
        do {
            _ = try world.store.restore(journal: 2, now: world.now(), newID: world.newID)
            throw ConformanceViolation(rule: world.rule, detail: "the edit of a missing avatar was restored")
        } catch let failure as StoreError {
            try world.expect(failure.code, is: .missingRecord, "the code")
            try world.expect(failure.message.contains("restore entry 1 first"), "the message is \(failure.message)")
        }
        _ = try world.store.restore(journal: 1, now: world.now(), newID: world.newID)
        try world.expect(try world.name(world.newID()), is: .text("ada"), "the name of the new author")
        _ = try world.store.restore(journal: 2, now: world.now(), newID: world.newID)
        try world.expect(
            try world.store.record("avatars", .id(avatar))?.values,
            is: [.text("mine"), .reference(world.newID()), .real(2), .null], "the avatar")
        let kept = try world.store.outbox(limit: 9)[0].transaction
        try world.expect(Set(kept.createdRecords), is: [avatar, world.newID()], "what one transaction creates")
    }

    var restoreChecks: [Check] {
        [
            Check("a merged value is restored with its whole record after another device deleted the record") { world in
                try restoresMerged(in: world) { _, _ in }
            },
            Check("a merged value is restored with its whole record after this device deleted the record") { world in
                try restoresMerged(in: world) { world, avatar in
                    try world.commit(.delete("avatars", avatar))
                    try world.response(try world.push().transactions[0].number, world.applied(4))
                }
            },
            Check("a merged value is restored with its whole record after a snapshot without the record") { world in
                try restoresMerged(in: world) { world, _ in
                    try world.store.resetCursor(of: world.space)
                    try world.pull(world.snapshot([], at: 3))
                }
            },
            Check("a merge that is reported after this device deleted the record keeps the whole record") { world in
                let (user, avatar) = try world.syncedAvatar()
                try world.commit(.update("avatars", avatar, ["title": .text("mine")]))
                let number = try world.push().transactions[0].number
                try world.commit(.delete("avatars", avatar))
                try world.commit(.delete("users", user))
                try world.response(number, world.applied(3, conflicts: [try world.lostTitle(of: avatar)]))
                let entry = try world.store.journal(state: .active, limit: 9)[0]
                for sent in try world.push().transactions {
                    try world.response(sent.number, world.applied(sent.number.rawValue + 3))
                }
                let commits = [
                    world.at(3, world.changed(avatar, ["scale": .real(2)])), world.at(4, world.deletedAvatar(avatar)),
                    world.at(5, world.deleted(user)),
                ]
                try world.pull(world.feed(commits, to: 5))
                try world.expectRemade(by: entry, ["title": .text("mine")])
            },
            Check("an overwritten value is restored with its record, and the author that was deleted later") { world in
                let (user, avatar) = try world.syncedAvatar()
                let conflict = try world.lostTitle(of: avatar, rule: .deleteWins)
                let notice = ConflictNotice(number: 1, version: Version(3), conflict: conflict)
                let page = world.feed([world.at(3, world.deletedAvatar(avatar))], to: 3, notices: [notice])
                try world.pull(page)
                try world.pull(world.feed([world.at(4, world.deleted(user))], to: 4))
                try world.expectRemade(
                    by: try world.store.journal(state: .active, limit: 9)[0], ["title": .text("mine")])
            },
            Check("an overwritten value is restored with a record that was deleted later") { world in
                let (user, avatar) = try world.syncedAvatar()
                let notice = ConflictNotice(
                    number: 1, version: Version(3), conflict: try world.lostTitle(of: avatar))
                let changed = world.changed(avatar, ["title": .text("theirs")])
                try world.pull(world.feed([world.at(3, changed)], to: 3, notices: [notice]))
                try world.pull(world.feed([world.at(4, world.deletedAvatar(avatar), world.deleted(user))], to: 4))
                try world.expectRemade(
                    by: try world.store.journal(state: .active, limit: 9)[0], ["title": .text("mine")])
            },
            Check("a reference to a record that a later restored entry creates is set then") { world in
                let (author, ada) = (try world.syncedUser("author"), world.id())
                try world.pull(world.feed([world.at(2, world.created(ada, uid: 8, "ada"))], to: 2))
                let avatar = world.id()
                let first = try world.written(
                    .create("avatars", avatar, ["author": .reference(author), "title": .text("mine")]))
                _ = try world.written(
                    .update("users", ada, ["username": .text("eve"), "avatar": .reference(avatar)]))
                // With the creation, the edit that refers to it is cancelled.
                try world.store.cancel(first, now: world.now())
                try world.pull(world.feed([world.at(3, world.deleted(ada))], to: 3))
                _ = try world.store.restore(journal: 2, now: world.now(), newID: world.newID)
                try world.expect(
                    try world.user(world.newID())?.values, is: [.text("eve"), .null, .null, .null],
                    "the user before the avatar is there")
                _ = try world.store.restore(journal: 1, now: world.now(), newID: world.newID)
                try world.expect(
                    try world.user(world.newID())?.values, is: [.text("eve"), .null, .null, .reference(avatar)],
                    "the user")
            },
            Check("a creation that was rejected because a page had deleted a required record is restored with it") {
                world in
                try restoresCreation(in: world, pageIsFirst: true)
            },
            Check("a creation that was rejected before a page deletes a required record is restored with it") { world in
                try restoresCreation(in: world, pageIsFirst: false)
            },
            Check("a space that is vacated leaves no values of its deleted records behind") { world in
                let user = try world.syncedUser("ada")
                try world.commit(.create("avatars", world.id(), ["author": .reference(user)]))
                let number = try world.push().transactions[0].number
                try world.pull(world.feed([world.at(2, world.deleted(user))], to: 2))
                _ = try world.vacate()
                try world.response(number, world.rejected(.danglingReference))
                try world.expect(
                    try world.store.journal(state: nil, limit: 9).map(\.records), is: [nil], "what is kept")
            },
        ]
    }
}

extension StoreWorld {
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
        try expect(try store.outboxSummary().journal, is: 0, "the count of unseen entries")
    }
}
