import SyncModel

/// Where the records of one device stood when it was last looked at: no version goes back (I7).
struct ReplicaHistory {
    private var bases: [CollectionName: [RecordID: ReplicaFacts.Base]] = [:]
    private var session: (epoch: Epoch?, identity: ClientIdentity)?

    /// - Parameters:
    ///   - epoch: the server's history that the device lives in; versions of two say nothing about each other.
    ///   - identity: another incarnation may have gone to another epoch and come back.
    mutating func check(
        _ facts: ReplicaFacts, of device: String, in epoch: Epoch?, as identity: ClientIdentity
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
                for place in 0..<max(base.fields.count, last.fields.count)
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
