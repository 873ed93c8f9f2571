import SyncConcurrency
import SyncCore
import SyncModel

/// An oracle that remembers what the users of all devices were told, and checks it once the world is at rest.
///
/// It knows what a user knows: the values that users read and wrote, the reported results, and the journal. It
/// merges nothing, predicts nothing, and knows no versions, stamps, client ids, or messages, so it shares no assumption
/// with the parts under test or with the other oracles.
///
/// In the end, each saved value must be one of these:
///
/// - current;
/// - replaced by an edit or a delete on a device that had read this value;
/// - offered by the journal of a device that holds it, or by a journal entry that a user has already acted on;
/// - still in the outbox;
/// - on a device whose journal says that the server has removed notices, so that values may be missing;
/// - in a field of a record that a user of an earlier build deleted, who could see the record but not the field. This
///   is the only case that no user is told of.
///
/// Nulls, values that users of several devices entered, and values in a space that a holder may not read are exempt.
///
/// A deleted record must stay deleted, unless the journal of a device that holds the deletion says otherwise.
///
/// A user who restores everything that was lost has not chosen to give up any value. So the restore replaces only
/// values that its entries say they replace, and an entry that was restored offers none: what it has must be current.
final class UserOracle: Sendable {
    /// One field of one record.
    struct FieldAddress: Hashable, Sendable, CustomStringConvertible {
        let collection: CollectionName
        let record: RecordID
        let field: FieldName

        var description: String { "\(field) of \(collection) \(record)" }
    }

    /// A value that a user gave to a field.
    struct Saved: Hashable, Sendable, CustomStringConvertible {
        let field: FieldAddress
        let value: FieldValue

        var description: String { "\(value) in \(field)" }
    }

    /// A change that a user made. It has no holder until a user is told that it is saved.
    struct Claim: Hashable, Sendable {
        /// The devices whose databases hold the change: one, or several where a database was copied.
        var holders: Set<String> = []
        /// The devices on which a user made the change. With several, a value cannot be attributed to one of them.
        var authors: Set<String> = []
        var space: SpaceID
        /// The time at which a user last made the change, since the start of the world.
        var made = Duration.zero
        /// Whether a user has seen the change in the journal.
        var isReported = false
        /// The devices on which a user has written the value again by restoring everything that was lost, and the
        /// authors before that. Any of them may be notified if the value gives way to another.
        var restorers: Set<String> = []
        /// The holders and restorers that have removed the space since then, and have not downloaded all of it again.
        /// Only the server has the change.
        var absentees: Set<String> = []
        /// Whether a device that might have offered the value cannot: a restorer's journal is lost, or the server was
        /// restored while only it had the change, or before a device that did not know of that removed the space.
        var isUncertain = false
    }

    struct State: Sendable {
        var values: [Saved: Claim] = [:]
        var deletes: [RecordAddress: Claim] = [:]
        /// The values that a user read and then replaced.
        var replaced: Set<Saved> = []
        /// The values that the users of each device have entered, even if the field already had the value, and the
        /// values that came with a copy of another device's database. Never forgotten.
        var entered: [String: Set<Saved>] = [:]
        /// The values that the users of each device have read and replaced there. Never forgotten.
        var replacedOn: [String: Set<Saved>] = [:]
        /// The spaces in which users have entered each text. Texts are unique, so this is one space as a rule.
        var homes: [FieldValue: Set<SpaceID>] = [:]
        /// The last edits of each device's users: the values that they have replaced, and the new ones.
        var lastEdits: [String: [FieldAddress: (old: FieldValue, new: FieldValue)]] = [:]
        /// The spaces that each device has removed, and has not downloaded again.
        var absences: [String: Set<SpaceID>] = [:]
        /// The newest version of each space that the user of each device was told, and the history that has it.
        var told: [String: [SpaceID: (epoch: Epoch, version: Version)]] = [:]
        /// The number of times that the server was restored from a backup.
        var restores = 0
        /// The devices that have followed the server's history since the last restore.
        var upToDate: Set<String> = []
    }

    let state = Guarded(State())
    let catalog: SchemaCatalog
    private let now: @Sendable () -> Duration

    /// - Parameter now: returns the time since the start of the world.
    init(catalog: SchemaCatalog, now: @escaping @Sendable () -> Duration) {
        self.catalog = catalog
        self.now = now
    }

    // MARK: Actions of users

    /// Returns the records as a user reads them before changing them.
    ///
    /// - Returns: each record; nil where the device shows none. Records of collections that the device does not know
    ///   are left out.
    func read(
        _ addresses: [RecordAddress], in store: any LocalStore
    ) throws(StoreError) -> [RecordAddress: Record?] {
        var shown: [RecordAddress: Record?] = [:]
        for address in addresses where store.catalog[address.collection] != nil {
            shown.updateValue(try store.record(address.collection, .id(address.id)), forKey: address)
        }
        return shown
    }

    /// Records that a user is told that their edits are saved.
    ///
    /// - Parameters:
    ///   - shown: the records as the user saw them.
    ///   - stored: the records as the device showed them at the time of the edits; nil if these are the records that
    ///     the user saw.
    func saved(
        _ edits: [RecordEdit], in space: SpaceID, on device: String, having shown: [RecordAddress: Record?],
        over stored: [RecordAddress: Record?]? = nil
    ) {
        state.withLock { state in
            state.enter(values(enteredBy: edits), in: space, on: device)
            for change in changes(edits, shown, over: stored ?? shown) {
                state.noteReplaced(by: change, on: device, isSaved: true)
                state.note(change, on: device, in: space, at: now(), isSaved: true)
            }
        }
    }

    /// Records that restoring everything that was lost has made this edit on behalf of a user.
    ///
    /// - Parameters:
    ///   - entry: the entry that the edit restores. If it has created the record under a new id, the record has other
    ///     values, too, about which the entry says nothing. Only texts, which are unique, can be told from these.
    ///   - left: the fields that stay in the journal. A record under a new id has their values until a later edit sets
    ///     them.
    func restored(
        _ edit: RecordEdit, of entry: JournalEntry, leaving left: Set<FieldAddress>, in space: SpaceID,
        on device: String, having shown: Record?
    ) {
        let offered = JournalOffer([entry])
        let texts = Set(
            offered.values.filter { saved in
                if case .text = saved.value { !left.contains(saved.field) } else { false }
            }.map(\.value))
        state.withLock { state in
            state.entered[device, default: []].formUnion(values(enteredBy: [edit]))
            let before = [RecordAddress(edit.collection, edit.record): shown]
            for change in changes([edit], before, over: before) {
                state.noteReplaced(by: change, on: device, isSaved: true)
                guard case .value(let saved, let old, _) = change else { continue }
                if let old {
                    let replaced = Saved(field: saved.field, value: old)
                    // A reference that the entry has, too, follows its target, which was created again under a new id.
                    let hasMoved = if case .reference = old { offered.values.contains(replaced) } else { false }
                    if hasMoved || offered.saysThatItReplaces(replaced) { state.replaced.insert(replaced) }
                } else if !texts.contains(saved.value) {
                    // The new record may have the id that the entry names. Its device may be notified if the value
                    // loses.
                    if offered.values.contains(saved) { state.values[saved]?.restorers.insert(device) }
                    continue
                }
                state.values[saved, default: Claim(space: space)].isRestored(on: device, at: now())
            }
        }
    }

    /// Records that restoring a merge has written a value again. From now on, the value must be found.
    func writtenAgain(_ saved: Saved, in space: SpaceID, on device: String) {
        state.withLock { state in
            guard !state.replaced.contains(saved) else { return }
            state.values[saved, default: Claim(space: space)].isRestored(on: device, at: now())
        }
    }

    /// Records that a restored entry has a value which is not in its field: the record was created again under a new
    /// id, or the field refers to a record that is missing.
    func moved(_ saved: Saved, on device: String) {
        state.withLock { state in
            guard let claim = state.values[saved], claim.holders.union(claim.restorers).contains(device) else { return }
            state.values[saved]?.isReported = true
        }
    }

    /// Records that a user has cancelled edits. It is then unknown which edits are the last ones.
    func cancelled(on device: String) {
        state.withLock { $0.lastEdits[device] = nil }
    }

    /// Records that a user is told that their edits failed.
    ///
    /// - Parameter failure: the error. An edit that the store refused was not made; one that met a fault of the machine
    ///   may have been. The other parameters are those of `saved`.
    func failed(
        _ edits: [RecordEdit], in space: SpaceID, on device: String, having shown: [RecordAddress: Record?],
        over stored: [RecordAddress: Record?]? = nil, _ failure: any Error
    ) {
        if let failure = failure as? StoreError,
            failure.advice == .changeTheRequest || [.journalFull, .outboxFull].contains(failure.code)
        {
            return
        }
        state.withLock { state in
            state.enter(values(enteredBy: edits), in: space, on: device)
            for change in changes(edits, shown, over: stored ?? shown) {
                state.noteReplaced(by: change, on: device, isSaved: false)
                state.note(change, on: device, in: space, at: now(), isSaved: false)
            }
        }
    }

    /// Returns whether a device holds a value that was entered on only one device, and that no user has seen in the
    /// journal.
    func holds(_ saved: Saved, on device: String) -> Bool {
        state.withLock { state in
            guard let claim = state.values[saved] else { return false }
            return claim.holders.contains(device) && claim.authors.count == 1 && !claim.isReported
                && claim.restorers.isSubset(of: [device])
        }
    }

    /// Returns whether the value was entered on the device, or came with a copy of another device's database.
    func hasEntered(_ saved: Saved, on device: String) -> Bool {
        state.withLock { $0.entered[device]?.contains(saved) ?? false }
    }

    /// Returns whether a user of the device has read the value there and replaced it.
    func hasReplaced(_ saved: Saved, on device: String) -> Bool {
        state.withLock { $0.replacedOn[device]?.contains(saved) ?? false }
    }

    /// Returns the value that the last edit of the field on the device has written over this value; nil when the last
    /// edit has replaced another value or is not known.
    func replacement(of saved: Saved, on device: String) -> FieldValue? {
        state.withLock { state in
            guard let last = state.lastEdits[device]?[saved.field], last.old == saved.value else { return nil }
            return last.new
        }
    }

    /// Records that a user has read an entry of the journal and is about to act on it.
    func saw(_ entry: JournalEntry, on device: String) {
        state.withLock { state in
            let offer = JournalOffer([entry])
            for saved in offer.values where state.values[saved]?.holders.contains(device) == true {
                state.values[saved]?.isReported = true
            }
            for address in offer.deletes where state.deletes[address]?.holders.contains(device) == true {
                state.deletes[address]?.isReported = true
            }
            // A full journal forgets the entry once it is dismissed, but its user knows that values may be missing.
            guard offer.saysThatNoticesAreMissing else { return }
            for (saved, claim) in state.values where claim.holders.contains(device) {
                state.values[saved]?.isReported = true
            }
        }
    }

    // MARK: Spaces

    /// Records the versions of the spaces that the user of a device is told.
    func wasTold(_ session: StoredSession, on device: String) {
        guard let epoch = session.epoch else { return }
        state.withLock { state in
            for space in session.spaces {
                let version = max(space.version, space.receipt?.version ?? .zero)
                let known = state.told[device]?[space.space]
                if let known, known.epoch == epoch, known.version >= version { continue }
                state.told[device, default: [:]][space.space] = (epoch, version)
            }
        }
    }

    /// Records that a device has removed a space, which only the server has now.
    func left(_ space: SpaceID, on device: String) {
        state.withLock { state in
            let isLost = state.restores > 0 && !state.upToDate.contains(device)
            for (saved, claim) in state.values
            where claim.space == space && claim.holders.union(claim.restorers).contains(device) {
                state.values[saved]?.absentees.insert(device)
                if isLost { state.values[saved]?.isUncertain = true }
            }
            // The last edits may have been of records that are no longer shown.
            state.lastEdits[device] = nil
            state.absences[device, default: []].insert(space)
        }
    }

    /// Records whether a device follows the server's current history. If not, it does not know what a restore has lost.
    func follows(_ device: String, currentHistory isCurrent: Bool) {
        state.withLock { state in
            if isCurrent { state.upToDate.insert(device) } else { state.upToDate.remove(device) }
        }
    }

    /// Records that a device says that it has all of a space.
    func hasAll(of space: SpaceID, on device: String) {
        state.withLock { state in
            guard state.absences[device]?.remove(space) != nil else { return }
            for (saved, claim) in state.values where claim.space == space && claim.absentees.contains(device) {
                state.values[saved]?.absentees.remove(device)
            }
        }
    }

    // MARK: Losses

    /// A copy of what a device's user was told, kept with a copy of the device's disk.
    struct Image: Sendable {
        fileprivate let values: Set<Saved>
        fileprivate let deletes: Set<RecordAddress>
        fileprivate let entered: Set<Saved>
        fileprivate let replaced: Set<Saved>
        fileprivate let restored: Set<Saved>
        fileprivate let restores: Int
    }

    func image(of device: String) -> Image {
        state.withLock { state in
            Image(
                values: Set(state.values.filter { $0.value.holders.contains(device) }.keys),
                deletes: Set(state.deletes.filter { $0.value.holders.contains(device) }.keys),
                entered: state.entered[device] ?? [],
                replaced: state.replacedOn[device] ?? [],
                restored: Set(state.values.filter { $0.value.restorers.contains(device) }.keys),
                restores: state.restores)
        }
    }

    /// Records that the device's disk was replaced: its user knows that everything not on the new disk is lost.
    ///
    /// - Parameter journal: the journal of the old disk.
    func replaceDisk(of device: String, by image: Image, journal: [JournalEntry]) {
        for entry in journal { saw(entry, on: device) }
        state.withLock { state in
            state.entered[device, default: []].formUnion(image.entered)
            state.replacedOn[device, default: []].formUnion(image.replaced)
            state.lastEdits[device] = nil
            state.told[device] = nil
            for key in state.values.keys {
                state.values[key]?.hold(image.values.contains(key), by: device)
                state.values[key]?.keepRestored(image.restored.contains(key), on: device)
            }
            // A record that was deleted before the server was restored may be back.
            let deletes = image.restores == state.restores ? image.deletes : []
            for key in state.deletes.keys { state.deletes[key]?.hold(deletes.contains(key), by: device) }
        }
    }

    /// Records that a device that does not flush each commit has lost power. Its user checks what is left.
    func losePower(_ device: String, _ store: any LocalStore) throws(StoreError) {
        let held = image(of: device)
        let offer = JournalOffer(try store.restorableJournal())
        let waiting = JournalOffer(waiting: try store.outbox(limit: .max).map(\.transaction))
        let addresses = Set(held.values.union(held.restored).map(\.field.address)).union(held.deletes)
        let shown = try read(addresses.sorted(), in: store)
        state.withLock { state in
            state.lastEdits[device] = nil
            state.told[device] = nil
            for saved in held.values.union(held.restored)
            where shown[saved.field.address]??.value(at: saved.field, in: catalog) != saved.value {
                guard !offer.values.contains(saved) else { continue }
                state.values[saved]?.holders.remove(device)
                state.values[saved]?.keepRestored(false, on: device)
            }
            // A record that is not shown may have been deleted, or its creation may have been lost with its deletion:
            // the server then shows it again. Only a deletion in the outbox is certain.
            for address in held.deletes where !waiting.deletes.contains(address) {
                if !offer.deletes.contains(address) { state.deletes[address]?.holders.remove(device) }
            }
        }
    }

    /// Records that the server was restored from a backup.
    ///
    /// Devices send again what the server has lost, or offer it in the journal, with two documented limits: a delete is
    /// not repeated, and a device that has left a space has nothing of it.
    func restoreServer() {
        state.withLock { state in
            state.deletes = [:]
            state.restores += 1
            state.upToDate = []
            for (saved, claim) in state.values where !claim.absentees.isEmpty {
                state.values[saved]?.isUncertain = true
            }
        }
    }

    // MARK: Changes

    /// A change of one field, or of a whole record.
    ///
    /// The last element of each has the values that the change replaces although its user did not see them, because the
    /// form showed older ones.
    fileprivate enum Change {
        case value(Saved, over: FieldValue?, unseen: Saved?)
        case delete(RecordAddress, of: [Saved], unseen: [Saved])
    }

    /// - Parameters:
    ///   - shown: the records as the user saw them.
    ///   - stored: the records as the device showed them.
    private func changes(
        _ edits: [RecordEdit], _ shown: [RecordAddress: Record?], over stored: [RecordAddress: Record?]
    ) -> [Change] {
        var changes: [Change] = []
        // The values of fields that earlier edits of the same transaction have set.
        var set: [FieldAddress: FieldValue] = [:]
        for edit in edits {
            let address = edit.address
            let (before, current) = (shown[address] ?? nil, stored[address] ?? nil)
            switch edit {
            case .create(_, _, let patch), .update(_, _, let patch):
                for (name, value) in patch {
                    let field = FieldAddress(address, name)
                    let old = set[field] ?? before?.value(at: field, in: catalog)
                    let actual = set[field] ?? current?.value(at: field, in: catalog)
                    set[field] = value
                    guard actual != value else { continue }
                    let unseen = actual == old ? nil : actual.map { Saved(field: field, value: $0) }
                    changes.append(.value(Saved(field: field, value: value), over: old, unseen: unseen))
                }
            case .delete:
                func values(of record: Record) -> [Saved] {
                    self.values(of: record, at: address).map {
                        Saved(field: $0.field, value: set[$0.field] ?? $0.value)
                    }
                }
                let seen = before.map(values) ?? []
                changes.append(
                    .delete(address, of: seen, unseen: current.map(values)?.filter { !seen.contains($0) } ?? []))
            }
        }
        return changes
    }

    /// Returns all values that edits enter.
    private func values(enteredBy edits: [RecordEdit]) -> [Saved] {
        edits.flatMap { edit in
            let address = RecordAddress(edit.collection, edit.record)
            switch edit {
            case .create(_, _, let patch), .update(_, _, let patch):
                return patch.map { Saved(field: FieldAddress(address, $0.field), value: $0.value) }
            case .delete: return []
            }
        }
    }

    /// Returns all values that a record shows.
    func values(of record: Record, at address: RecordAddress) -> [Saved] {
        zip(catalog[address.collection]?.fields ?? [], record.values).map { field, value in
            Saved(field: FieldAddress(address, field.name), value: value)
        }
    }
}

extension UserOracle.State {
    fileprivate mutating func enter(_ values: [UserOracle.Saved], in space: SpaceID, on device: String) {
        entered[device, default: []].formUnion(values)
        for saved in values {
            if case .text = saved.value { homes[saved.value, default: []].insert(space) }
        }
    }

    /// - Parameter isSaved: whether the change was made. Otherwise, it may have been.
    fileprivate mutating func noteReplaced(by change: UserOracle.Change, on device: String, isSaved: Bool) {
        switch change {
        case .value(let saved, let old, let unseen):
            if let old {
                replacedOn[device, default: []].insert(UserOracle.Saved(field: saved.field, value: old))
            }
            if let unseen, isOwn(unseen, on: device) { replacedOn[device, default: []].insert(unseen) }
            let last = isSaved && unseen == nil ? old : nil
            lastEdits[device, default: [:]][saved.field] = last.map { ($0, saved.value) }
        case .delete(_, let seen, let unseen):
            replacedOn[device, default: []].formUnion(seen + unseen.filter { isOwn($0, on: device) })
        }
    }

    fileprivate mutating func note(
        _ change: UserOracle.Change, on device: String, in space: SpaceID, at now: Duration, isSaved: Bool
    ) {
        switch change {
        case .value(let saved, let old, _):
            if let old { replaced.insert(UserOracle.Saved(field: saved.field, value: old)) }
            values[saved, default: UserOracle.Claim(space: space)].add(device, at: now, isSaved: isSaved)
        case .delete(let address, let seen, _):
            replaced.formUnion(seen)
            deletes[address, default: UserOracle.Claim(space: space)].add(device, at: now, isSaved: isSaved)
        }
    }

    /// Returns whether the users of the device know a value that their form does not show, because they have entered
    /// it.
    private func isOwn(_ saved: UserOracle.Saved, on device: String) -> Bool {
        entered[device]?.contains(saved) ?? false
    }
}

extension UserOracle.Claim {
    fileprivate mutating func add(_ device: String, at now: Duration, isSaved: Bool) {
        made = max(made, now)
        authors.insert(device)
        if isSaved { holders.insert(device) }
    }

    /// Records that the user of a device has written the value again by restoring everything that was lost.
    fileprivate mutating func isRestored(on device: String, at now: Duration) {
        made = max(made, now)
        restorers.insert(device)
        guard isReported || holders.isEmpty || authors.count != 1 else { return }
        // Until now, no device had to have the value at the end. Now this device has to.
        restorers.formUnion(authors)
        (holders, authors, isReported) = ([device], [device], false)
    }

    /// - Parameter isKept: whether the device's new disk has the restore, too.
    fileprivate mutating func keepRestored(_ isKept: Bool, on device: String) {
        if isKept {
            restorers.insert(device)
        } else if restorers.remove(device) != nil {
            isUncertain = true
        }
    }

    fileprivate mutating func hold(_ isHeld: Bool, by device: String) {
        if isHeld { holders.insert(device) } else { holders.remove(device) }
    }
}

extension UserOracle.FieldAddress {
    init(_ address: RecordAddress, _ field: FieldName) {
        self.init(collection: address.collection, record: address.id, field: field)
    }

    var address: RecordAddress { RecordAddress(collection, record) }
}

extension Record {
    /// Returns the value of a field; nil when the record does not have the field, as in an earlier build.
    func value(at field: UserOracle.FieldAddress, in catalog: SchemaCatalog) -> FieldValue? {
        guard let position = catalog[field.collection]?.position(of: field.field) else { return nil }
        return values.indices.contains(position) ? values[position] : nil
    }
}
