import SyncModel

/// The versions of a device's records at the previous check, and the check that no version goes back (I7).
struct ReplicaHistory {
    private var bases: [CollectionName: [RecordID: ReplicaFacts.Base]] = [:]
    private var session: (epoch: Epoch?, identity: ClientIdentity, resets: Int)?

    /// - Parameters:
    ///   - epoch: the server's history that the device follows. Versions of two histories cannot be compared.
    ///   - identity: the device's identity. A different incarnation may have followed another history and come back.
    ///   - resets: the number of events so far after which versions may go back; 0 when they may never go back.
    ///   - catalog: the models that the device and its server knew at first. A field that was added later may have the
    ///     record's version until the server shows the field's own.
    mutating func check(
        _ facts: ReplicaFacts, of device: String, in epoch: Epoch?, as identity: ClientIdentity, resets: Int = 0,
        knowing catalog: SchemaCatalog
    ) throws(Violation) {
        defer {
            bases = facts.bases
            session = (epoch, identity, resets)
        }
        guard let session, session == (epoch, identity, resets) else { return }
        for collection in facts.bases.keys.sorted() {
            guard let before = bases[collection], let now = facts.bases[collection], before != now else { continue }
            for id in now.keys.sorted() {
                guard let base = now[id], let last = before[id], last != base else { continue }
                guard base.version >= last.version else {
                    throw Violation(
                        .I7, "\(device): \(collection) \(id) went back from version \(last.version) to \(base.version)"
                    )
                }
                let count = catalog[collection]?.fields.count ?? 0
                for place in 0..<min(max(base.fields.count, last.fields.count), count)
                where base.version(at: place) < last.version(at: place) {
                    throw Violation(
                        .I7,
                        "\(device): field \(place) of \(collection) \(id) went back from version \(last.version(at: place)) to \(base.version(at: place))"
                    )
                }
            }
        }
    }
}

extension ReplicaFacts.Base {
    func version(at place: Int) -> Version { fields.indices.contains(place) ? fields[place] : version }
}
