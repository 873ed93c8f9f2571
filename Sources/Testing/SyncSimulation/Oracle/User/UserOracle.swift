import SyncConcurrency
import SyncCore
import SyncModel

/// Remembers what the users of all devices were told, and looks for it once everything is at rest.
///
/// It knows what a user knows: what they read, what they wrote, what they were told became of it, and what the journal
/// shows. It calls no merge and no model, and knows no version, no stamp, no client id and no message. So it shares no
/// assumption with the parts under test or with the other oracles.
///
/// A value that was saved is, at the end, one of these:
///
/// - current;
/// - replaced by an edit or a delete of a device that read this value before;
/// - offered by a journal entry of a device that wrote it, or by one that its user has dealt with;
/// - still in the outbox;
/// - in a field of a record that a user of an earlier build deleted, who could see the record and not the field: the only one
///   of these that no user is told of.
///
/// A record that was deleted is gone, or the journal of the deleter says otherwise.
final class UserOracle: Sendable {
    /// One field of one record.
    struct Spot: Hashable, Sendable, CustomStringConvertible {
        let collection: CollectionName
        let record: RecordID
        let field: FieldName

        var description: String { "\(field) of \(collection) \(record)" }
    }

    /// A value that somebody gave to a field.
    struct Saved: Hashable, Sendable, CustomStringConvertible {
        let spot: Spot
        let value: FieldValue

        var description: String { "\(value) in \(spot)" }
    }

    /// Something that a user was told is done.
    struct Claim: Hashable, Sendable {
        /// The devices whose databases hold it: one, or several where a database was copied.
        var holders: Set<String> = []
        /// The devices on which a user asked for it. Where there are several, nobody can tell whose value is whose.
        var authors: Set<String> = []
        var space: SpaceID
        /// Whether a user has seen it in the journal.
        var isTold = false
        /// Whether the server was put back to a backup since.
        var mayBeLost = false
    }

    struct State: Sendable {
        var values: [Saved: Claim] = [:]
        var deletes: [NaiveModel.Place: Claim] = [:]
        /// Values that somebody read, and then replaced.
        var replaced: Set<Saved> = []
        /// The fields that went with the delete of a record whose user could not see them, having an earlier build.
        var deletedUnseen: Set<Spot> = []
        /// The devices on which a user has changed each field.
        var editors: [Spot: Set<String>] = [:]
        /// How often the server was put back to a backup.
        var restores = 0
    }

    let state = Guarded(State())
    let catalog: SchemaCatalog

    init(catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    // MARK: What users do

    /// The values that a user reads before they change records.
    ///
    /// - Returns: of each, the record as the device shows it; nil where it shows none.
    func read(
        _ places: [NaiveModel.Place], in store: any LocalStore
    ) throws(StoreFailure) -> [NaiveModel.Place: Record?] {
        var shown: [NaiveModel.Place: Record?] = [:]
        for place in places where store.catalog[place.collection] != nil {
            shown.updateValue(try store.record(place.collection, .id(place.id)), forKey: place)
        }
        return shown
    }

    /// A user is told that their edits are saved.
    func saved(
        _ edits: [RecordEdit], in space: SpaceID, on device: String, having shown: [NaiveModel.Place: Record?]
    ) {
        state.withLock { state in
            for change in changes(edits, shown) { state.note(change, on: device, in: space, isSaved: true) }
        }
    }

    /// A user is told that their edits failed.
    ///
    /// - Parameter failure: an edit that the store refused was not made; one that met a fault of the machine may have been.
    func failed(
        _ edits: [RecordEdit], in space: SpaceID, on device: String, having shown: [NaiveModel.Place: Record?],
        _ failure: any Error
    ) {
        if let failure = failure as? StoreFailure, failure.advice == .changeTheRequest { return }
        state.withLock { state in
            for change in changes(edits, shown) { state.note(change, on: device, in: space, isSaved: false) }
        }
    }

    /// A user reads an entry of the journal, and is about to deal with it.
    func saw(_ entry: JournalEntry, on device: String) {
        state.withLock { state in
            let offer = JournalOffer([entry])
            for saved in offer.values where state.values[saved]?.holders.contains(device) == true {
                state.values[saved]?.isTold = true
            }
            for place in offer.deletes where state.deletes[place]?.holders.contains(device) == true {
                state.deletes[place]?.isTold = true
            }
        }
    }

    // MARK: What befalls them

    /// The part of what a user was told that a copy of the device's disk holds.
    struct Image: Sendable {
        fileprivate let values: Set<Saved>
        fileprivate let deletes: Set<NaiveModel.Place>
        fileprivate let restores: Int
    }

    func image(of device: String) -> Image {
        state.withLock { state in
            Image(
                values: Set(state.values.filter { $0.value.holders.contains(device) }.keys),
                deletes: Set(state.deletes.filter { $0.value.holders.contains(device) }.keys),
                restores: state.restores)
        }
    }

    /// Another disk is in the device: its user knows that everything else is lost.
    ///
    /// - Parameter journal: what the journal of the old disk showed until then.
    func replaceDisk(of device: String, by image: Image, journal: [JournalEntry]) {
        for entry in journal { saw(entry, on: device) }
        state.withLock { state in
            for key in state.values.keys { state.values[key]?.hold(image.values.contains(key), by: device) }
            // A record that was deleted before the server was put back may be there again.
            let deletes = image.restores == state.restores ? image.deletes : []
            for key in state.deletes.keys { state.deletes[key]?.hold(deletes.contains(key), by: device) }
        }
    }

    /// A device that does not flush each commit has lost power. Its user looks for what is left.
    func losePower(_ device: String, _ store: any LocalStore) throws(StoreFailure) {
        let held = image(of: device)
        let offer = JournalOffer(try store.wholeJournal())
        let places = Set(held.values.map(\.spot.place)).union(held.deletes)
        let shown = try read(places.sorted(), in: store)
        state.withLock { state in
            for saved in held.values where shown[saved.spot.place]??.value(at: saved.spot, in: catalog) != saved.value {
                if !offer.values.contains(saved) { state.values[saved]?.holders.remove(device) }
            }
            for place in held.deletes where shown[place] != .some(nil) {
                if !offer.deletes.contains(place) { state.deletes[place]?.holders.remove(device) }
            }
        }
    }

    /// The server was put back to a backup. What was confirmed since is sent again or offered by the devices that show it, but for
    /// two documented limits: a delete is not repeated, and a field that others have changed, too, may keep their value.
    func restoreServer() {
        state.withLock { state in
            for key in state.values.keys { state.values[key]?.mayBeLost = true }
            state.deletes = [:]
            state.restores += 1
        }
    }

    /// Somebody without a device changes records.
    func outsiderTouches(_ transaction: Transaction) {
        state.withLock { state in
            for mutation in transaction.mutations {
                let place = NaiveModel.Place(collection: mutation.collection, id: mutation.record)
                for field in catalog[place.collection]?.fields ?? [] {
                    state.editors[Spot(place, field.name), default: []].insert("")
                }
            }
        }
    }

    // MARK: The changes of edits

    /// A change of one field, or of a whole record.
    fileprivate enum Change {
        case value(Saved, over: FieldValue?)
        /// All fields have a value, if only null.
        case create([Spot])
        case delete(NaiveModel.Place, of: [Saved], unseen: [Spot])
    }

    private func changes(_ edits: [RecordEdit], _ shown: [NaiveModel.Place: Record?]) -> [Change] {
        var changes: [Change] = []
        for edit in edits {
            let place = NaiveModel.Place(collection: edit.collection, id: edit.record)
            let before = shown[place] ?? nil
            if before == nil, let schema = catalog[place.collection] {
                changes.append(.create(schema.fields.map { Spot(place, $0.name) }))
            }
            switch edit {
            case .create(_, _, let patch), .update(_, _, let patch):
                for (field, value) in patch {
                    let spot = Spot(place, field)
                    let old = before?.value(at: spot, in: catalog)
                    if old != value { changes.append(.value(Saved(spot: spot, value: value), over: old)) }
                }
            case .delete:
                let seen = before.map { values(of: $0, at: place) } ?? []
                let hidden = before == nil ? [] : catalog[place.collection]?.fields.dropFirst(seen.count) ?? []
                changes.append(.delete(place, of: seen, unseen: hidden.map { Spot(place, $0.name) }))
            }
        }
        return changes
    }

    /// All that a record shows.
    func values(of record: Record, at place: NaiveModel.Place) -> [Saved] {
        zip(catalog[place.collection]?.fields ?? [], record.values).map { field, value in
            Saved(spot: Spot(place, field.name), value: value)
        }
    }
}

extension UserOracle.State {
    fileprivate mutating func note(
        _ change: UserOracle.Change, on device: String, in space: SpaceID, isSaved: Bool
    ) {
        switch change {
        case .value(let saved, let old):
            if let old { replaced.insert(UserOracle.Saved(spot: saved.spot, value: old)) }
            editors[saved.spot, default: []].insert(device)
            values[saved, default: UserOracle.Claim(space: space)].add(device, isSaved: isSaved)
        case .create(let spots):
            for spot in spots { editors[spot, default: []].insert(device) }
        case .delete(let place, let seen, let unseen):
            replaced.formUnion(seen)
            deletedUnseen.formUnion(unseen)
            deletes[place, default: UserOracle.Claim(space: space)].add(device, isSaved: isSaved)
        }
    }
}

extension UserOracle.Claim {
    fileprivate mutating func add(_ device: String, isSaved: Bool) {
        authors.insert(device)
        if isSaved { holders.insert(device) }
    }

    fileprivate mutating func hold(_ isHeld: Bool, by device: String) {
        if isHeld { holders.insert(device) } else { holders.remove(device) }
    }
}

extension UserOracle.Spot {
    init(_ place: NaiveModel.Place, _ field: FieldName) {
        self.init(collection: place.collection, record: place.id, field: field)
    }

    var place: NaiveModel.Place { NaiveModel.Place(collection: collection, id: record) }
}

extension Record {
    /// The value that it shows in a field; nil when it has no such field, as in an earlier build.
    func value(at spot: UserOracle.Spot, in catalog: SchemaCatalog) -> FieldValue? {
        guard let position = catalog[spot.collection]?.position(of: spot.field) else { return nil }
        return values.indices.contains(position) ? values[position] : nil
    }
}
