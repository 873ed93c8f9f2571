import SyncCore
import SyncModel

/// A generator of random user operations: writes, edits in forms that may show old values, cancellations, restored and
/// dismissed entries of the journal, of which those that a restored server has forgotten are sometimes all restored,
/// and spaces that are left and followed again.
struct Workload: Sendable {
    private var random: SeededRandom
    private var identifiers: SeededRandom
    /// A name derived from the seed, which makes the texts of this operation unique.
    private let name: String
    private var written = 0
    private var choice: SeededRandom
    private var berths: SeededRandom
    var forms: SeededRandom
    private let setting: WorldSetting
    /// The space of this operation.
    private let space: SpaceID

    /// - Parameters:
    ///   - seed: the seed of one operation. The same seed gives the same operation on a device in the same state.
    ///   - setting: determines the kinds of operations, and the spaces that users may write to.
    init(seed: UInt64, setting: WorldSetting) {
        self.setting = setting
        choice = SeededRandom(seed: seed, stream: "space")
        berths = SeededRandom(seed: seed, stream: "berths")
        forms = SeededRandom(seed: seed, stream: "forms")
        space = setting.spaces[choice.below(setting.spaces.count)]
        random = SeededRandom(seed: seed, stream: "operation")
        identifiers = SeededRandom(seed: seed, stream: "identifiers")
        name = String(seed, radix: 36)
    }

    enum Operation: Hashable, Sendable {
        case write([RecordEdit], in: SpaceID)
        /// Writes several transactions, one after the other.
        case series([[RecordEdit]], in: SpaceID)
        /// Reads a record, to edit it later.
        case open(RecordAddress)
        /// Saves an edit, or deletes the record, by what the form shows.
        case submit(RecordEdit, RecordForm)
        /// Cancels an unsent entry, at this distance from the newest one.
        case cancel(back: Int)
        case restoreNewest
        /// Restores every entry about changes that the server has lost, as `syncctl journal restore --lost` does.
        case restoreLost
        case dismissNewest
        /// Writes other changes in place of those of an open entry.
        case correct(JournalCorrection, [RecordEdit], in: SpaceID)
        /// Restores the entry with this number, whatever its state.
        case restore(Int64)
        /// Restores the entry with this number if it is open, as an application does.
        case retry(Int64)
        /// Handles the older half of the open entries.
        case dismissOldest
        /// Stops following a space, and follows it again at once.
        case rejoin(SpaceID)
    }

    /// Draws the next operation of this store's user; nil when there is nothing that it could apply to.
    ///
    /// Operations are limited to the models that the store's build knows.
    ///
    /// - Parameter form: the form that the user has opened; nil if there is none.
    mutating func next(_ store: any LocalStore, form: RecordForm?, now: WallTime) throws -> Operation? {
        guard let operation = try drawOperation(store, form: form, now: now) else { return nil }
        switch operation {
        case .write(let edits, let space):
            let known = edits.compactMap { $0.limited(to: store.catalog) }
            return known.isEmpty ? nil : .write(known, in: space)
        case .series(let transactions, let space):
            let known = transactions.map { $0.compactMap { $0.limited(to: store.catalog) } }.filter { !$0.isEmpty }
            return known.isEmpty ? nil : .series(known, in: space)
        case .submit(let edit, let form): return edit.limited(to: store.catalog).map { .submit($0, form) }
        case .correct(let correction, let edits, let space):
            return .correct(correction, edits.compactMap { $0.limited(to: store.catalog) }, in: space)
        case .open, .cancel, .restoreNewest, .restoreLost, .restore, .retry, .dismissNewest, .dismissOldest, .rejoin:
            return operation
        }
    }

    private mutating func drawOperation(
        _ store: any LocalStore, form: RecordForm?, now: WallTime
    ) throws -> Operation? {
        switch setting.hasForms ? forms.below(100) : 100 {
        case ..<9: return try formOperation(store, form)
        case ..<16: return try series(store)
        case ..<22: return try rareEdit(store).map { .write([$0], in: space) }
        case 22 where setting.hasSmallJournals: return .dismissOldest
        case 23..<29 where setting.limits != nil: return .write(try longEdits(store, now), in: space)
        case 29..<34 where setting.hasCorrections: return try correction(store, now)
        case 34 where setting.hasCorrections: return try anyEntry(store, in: .active).map { .retry($0) }
        case 35..<39 where setting.restoresAny: return try anyEntry(store, in: nil).map { .restore($0) }
        default: break
        }
        if setting.hasForms, berths.chance(0.12) {
            guard let edit = try berthEdit(store, now: now) else { return nil }
            return .write([edit], in: space)
        }
        switch random.below(100) {
        case ..<20:
            return .write([.create("customer", identifier(now), newCustomer(try pick("customer", store)))], in: space)
        case ..<22: return .write([.create("customer", importedIdentifier(), customer(nil))], in: space)
        case ..<32:
            guard let painter = try pick("customer", store) else { return nil }
            return .write([.create("picture", identifier(now), picture(by: painter))], in: space)
        case ..<37: return .write(circle(now), in: space)
        case ..<70:
            guard let edit = try edit(store) else { return nil }
            return .write([edit], in: space)
        case ..<78:
            var edits: [RecordEdit] = []
            for _ in 0..<random.within(2...4) {
                guard let edit = try edit(store), !edits.contains(where: { $0.record == edit.record }) else { continue }
                edits.append(edit)
            }
            return edits.isEmpty ? nil : .write(edits, in: space)
        case ..<92:
            let collection: CollectionName = random.chance(0.6) ? "picture" : "customer"
            guard let victim = try pick(collection, store) else { return nil }
            return .write([.delete(collection, victim)], in: space)
        case ..<96: return .cancel(back: choice.chance(0.5) ? 0 : choice.below(8))
        case ..<98: return try choice.chance(0.5) && store.hasLostEntries() ? .restoreLost : .restoreNewest
        default: return space != .default && choice.chance(0.7) ? .rejoin(space) : .dismissNewest
        }
    }

    /// Opens a form, or saves the one that is open.
    private mutating func formOperation(_ store: any LocalStore, _ form: RecordForm?) throws -> Operation? {
        guard let form, forms.chance(0.6) else {
            let collections: [CollectionName] = ["customer", "customer", "picture", "berth"]
            let collection = collections[forms.below(collections.count)]
            return try pick(collection, store).map { .open(RecordAddress(collection, $0)) }
        }
        let (collection, id) = (form.address.collection, form.address.id)
        if forms.chance(0.3) { return .submit(.delete(collection, id), form) }
        var patch = Patch()
        for _ in 0..<forms.within(1...2) {
            if let (field, value) = try drawValue(of: collection, store) { patch.set(field, to: value) }
        }
        return patch.isEmpty ? nil : .submit(.update(collection, id, patch), form)
    }

    /// Draws several edits of one record, in one transaction or in several.
    private mutating func series(_ store: any LocalStore) throws -> Operation? {
        let collections: [CollectionName] = ["customer", "customer", "picture", "berth"]
        let collection = collections[forms.below(collections.count)]
        guard let id = try pick(collection, store) else { return nil }
        var edits: [RecordEdit] = []
        for _ in 0..<forms.within(2...4) {
            if let (field, value) = try drawValue(of: collection, store) {
                edits.append(.update(collection, id, [field: value]))
            }
        }
        if forms.chance(0.2) { edits.append(.delete(collection, id)) }
        return .series(forms.chance(0.4) ? [edits] : edits.map { [$0] }, in: space)
    }

    /// Draws an edit of a field of any type, among them those that other operations never change.
    private mutating func rareEdit(_ store: any LocalStore) throws -> RecordEdit? {
        let collection: CollectionName = forms.chance(0.5) ? "picture" : "customer"
        guard let id = try pick(collection, store), let (field, value) = try drawValue(of: collection, store) else {
            return nil
        }
        return .update(collection, id, [field: value])
    }

    /// Draws a field and a value for it, which is often null if the field is optional.
    private mutating func drawValue(
        of collection: CollectionName, _ store: any LocalStore
    ) throws -> (FieldName, FieldValue)? {
        guard let fields = store.catalog[collection]?.fields else { return nil }
        let field = fields[forms.below(fields.count)]
        if !field.isRequired, forms.chance(0.3) { return (field.name, .null) }
        if let target = field.target { return try pick(target, store).map { (field.name, .reference($0)) } }
        written += 1
        let value: FieldValue =
            switch field.type {
            case .boolean: .boolean(forms.chance(0.5))
            case .integer: .integer(Int64(forms.below(5)))
            case .real: .real(Double(forms.below(1_000)) / 8)
            case .json: .json("{\"n\":\"\(name).\(written)\"}")
            default: .text(text())
            }
        return (field.name, value)
    }

    /// Draws a change of a berth. Berths are few, so that devices often edit and delete the same one.
    private mutating func berthEdit(_ store: any LocalStore, now: WallTime) throws -> RecordEdit? {
        let kind = berths.below(10)
        if kind < 3 {
            guard let keeper = try pick("customer", store) else { return nil }
            var patch: Patch = ["keeper": .reference(keeper)]
            if berths.chance(0.6) { patch.set("memo", to: .text(text())) }
            if berths.chance(0.3) { patch.set("label", to: .text(text())) }
            return .create("berth", berths.chance(0.3) ? importedBerth() : identifier(now), patch)
        }
        guard let id = try pick("berth", store) else { return nil }
        switch kind {
        case 3...5: return .update("berth", id, ["memo": berths.chance(0.5) ? .null : .text(text())])
        case 6: return .update("berth", id, ["label": berths.chance(0.5) ? .null : .text(text())])
        case 7:
            guard let keeper = try pick("customer", store) else { return nil }
            return .update("berth", id, ["keeper": .reference(keeper)])
        default: return .delete("berth", id)
        }
    }

    /// Returns one of a few identifiers of berths that every device makes the same way.
    private mutating func importedBerth() -> RecordID {
        RecordID(bits: Identifier128(high: 0x019B_0000_0000_7000, low: 0x8000_0000_0001_0000 | UInt64(berths.below(4))))
    }

    /// Draws edits with long texts, which a server may not take.
    private mutating func longEdits(_ store: any LocalStore, _ now: WallTime) throws -> [RecordEdit] {
        var edits: [RecordEdit] = []
        for _ in 0..<(forms.chance(0.3) ? forms.within(2...40) : 1) {
            let long = FieldValue.text(text() + String(repeating: "-", count: forms.within(1...150)))
            guard forms.chance(0.5), let id = try pick("customer", store) else {
                edits.append(.create("customer", identifier(now), ["name": long]))
                continue
            }
            guard !edits.contains(where: { $0.record == id }) else { continue }
            edits.append(.update("customer", id, [forms.chance(0.5) ? "name" : "note": long]))
        }
        return edits
    }

    mutating func identifier(_ now: WallTime) -> RecordID {
        .make(at: now, random: &identifiers)
    }

    /// Returns one of a few identifiers that every device makes the same way, as when all import the same list.
    private mutating func importedIdentifier() -> RecordID {
        RecordID(bits: Identifier128(high: 0x019B_0000_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(random.below(6))))
    }

    /// Returns a text that occurs only once, so that every write can be told apart.
    mutating func text() -> String {
        written += 1
        return random.chance(0.1) ? "\(name).\(written) \u{1F3DD} \"'\\\u{0301}" : "text \(name).\(written)"
    }

    private mutating func newCustomer(_ neighbour: RecordID?) -> Patch {
        var patch = customer(neighbour)
        if setting.hasForms, forms.chance(0.5) { patch.set("motto", to: .text(text())) }
        return patch
    }

    private mutating func customer(_ neighbour: RecordID?) -> Patch {
        var patch: Patch = ["name": .text(text())]
        if random.chance(0.5) { patch.set("boats", to: .integer(Int64(random.below(5)))) }
        if random.chance(0.3) { patch.set("note", to: .text(text())) }
        if let neighbour, random.chance(0.4) { patch.set("neighbour", to: .reference(neighbour)) }
        return patch
    }

    private mutating func picture(by painter: RecordID) -> Patch {
        ["title": .text(text()), "painter": .reference(painter), "tags": .json("{\"n\":\"\(name).\(written)\"}")]
    }

    /// Returns the creations of a customer and a picture that refer to each other, for one transaction.
    private mutating func circle(_ now: WallTime) -> [RecordEdit] {
        let painter = identifier(now)
        let work = identifier(now)
        var patch = customer(nil)
        patch.set("picture", to: .reference(work))
        return [.create("customer", painter, patch), .create("picture", work, picture(by: painter))]
    }

    private mutating func edit(_ store: any LocalStore) throws -> RecordEdit? {
        if random.chance(0.25) {
            guard let id = try pick("picture", store) else { return nil }
            return .update("picture", id, ["title": .text(text())])
        }
        guard let id = try pick("customer", store) else { return nil }
        if choice.chance(0.4), let edit = try settingBack(id, store) { return edit }
        var patch = Patch()
        for _ in 0..<random.within(1...3) {
            switch random.below(6) {
            case 0: patch.set("name", to: .text(text()))
            case 1: patch.set("boats", to: .integer(Int64(random.below(5))))
            case 2: patch.set("note", to: random.chance(0.2) ? .null : .text(text()))
            case 3: patch.set("height", to: .real(Double(random.below(1_000)) / 8))
            case 4: patch.set("ashore", to: .boolean(random.chance(0.5)))
            default:
                let neighbour = try pick("customer", store)
                patch.set("neighbour", to: neighbour.map { .reference($0) } ?? .null)
            }
        }
        return .update("customer", id, patch)
    }

    /// Returns an edit that sets an unconfirmed value of a customer back to the value that the server last showed; nil
    /// if there is none. A text is set back only to an empty field, so that each text occurs only once.
    private mutating func settingBack(_ id: RecordID, _ store: any LocalStore) throws -> RecordEdit? {
        guard let schema = store.catalog["customer"], let shown = try store.shownRecord("customer", id),
            let current = try store.record("customer", .id(id))
        else { return nil }
        let changed = zip(schema.fields, zip(shown.values, current.values)).filter { field, values in
            (field.type != .text || values.0.isNull) && values.0 != values.1
        }
        guard !changed.isEmpty else { return nil }
        let (field, values) = changed[choice.below(changed.count)]
        return .update("customer", id, [field.name: values.0])
    }

    /// Picks one of the records that the device shows, often an old one, so that devices edit the same records.
    private mutating func pick(_ collection: CollectionName, _ store: any LocalStore) throws -> RecordID? {
        guard store.catalog[collection] != nil else { return nil }
        // In 5 percent of the cases, the record may be in another space, and the store refuses the edit.
        if setting.spaces.count > 1, !choice.chance(0.05) {
            let known = try store.records(matching: RecordQuery(collection)).map(\.id)
            let start = index(among: known.count)
            return try (known[start...] + known[..<start]).first { try store.space(of: collection, $0) == space }
        }
        let count = try store.count(matching: RecordQuery(collection))
        guard count > 0 else { return nil }
        return try store.records(matching: RecordQuery(collection, limit: 1, offset: index(among: count))).first?.id
    }

    private mutating func index(among count: Int) -> Int {
        random.chance(0.5) ? random.below(min(count, 4)) : random.below(count)
    }
}

extension RecordEdit {
    /// Returns the part of the edit that these models know; nil when nothing is left.
    fileprivate func limited(to catalog: SchemaCatalog) -> RecordEdit? {
        guard let schema = catalog[collection] else { return nil }
        func known(_ patch: Patch) -> Patch {
            var known = Patch()
            for (field, value) in patch where schema.position(of: field) != nil { known.set(field, to: value) }
            return known
        }
        switch self {
        case .create(_, let id, let patch): return .create(collection, id, known(patch))
        case .update(_, let id, let patch):
            let left = known(patch)
            return left.isEmpty ? nil : .update(collection, id, left)
        case .delete: return self
        }
    }
}
