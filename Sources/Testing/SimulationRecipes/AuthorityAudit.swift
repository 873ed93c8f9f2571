import SyncModel
import SyncSimulation

/// Reads what the file of the authority's store says.
struct AuthorityAudit: AuthorityLook {
    private let look: SQLiteLook

    init(of file: String, on process: DiskProcess) throws {
        look = try SQLiteLook(file, on: process)
    }

    func facts() throws -> AuthorityFacts {
        var facts = AuthorityFacts()
        // An origin: version, time, client (two numbers), incarnation. A creation: its origin, and the time as claimed. Eight
        // bytes a number.
        try look.each("SELECT creation, origins FROM record") { row in
            for place in [row.bytes(0).prefix(40), row.bytes(1)[...]] {
                for start in stride(from: place.startIndex, to: place.endIndex, by: 40) {
                    let time = place[(start + 8)..<(start + 16)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                    facts.latestStamp = max(facts.latestStamp, HybridTime(rawValue: time))
                }
            }
        }
        return facts
    }
}
