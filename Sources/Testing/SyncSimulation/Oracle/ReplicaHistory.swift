import SyncModel

/// Where the records of one device stood when it was last looked at: no version goes back (I7).
struct ReplicaHistory {
    private var bases: [CollectionName: [RecordID: ReplicaFacts.Base]] = [:]
    private var session: (epoch: Epoch?, identity: ClientIdentity)?

    /// - Parameters:
    ///   - epoch: the server's history that the device lives in; versions of two say nothing about each other.
    ///   - identity: another incarnation may have gone to another epoch and come back.
    ///   - catalog: the models that the device and its server knew at first. Of what came later it may name the version of the record until it
    ///     is shown that of the field.
    mutating func check(
        _ facts: ReplicaFacts, of device: String, in epoch: Epoch?, as identity: ClientIdentity,
        knowing catalog: SchemaCatalog
    ) throws(Violation) {
        defer {
            bases = facts.bases
            session = (epoch, identity)
        }
        guard let session, session == (epoch, identity) else { return }
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
