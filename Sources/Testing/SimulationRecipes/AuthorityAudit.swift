import SyncModel
import SyncSimulation

/// A reader of the facts in the authority store's file.
struct AuthorityAudit: AuthorityInspector {
    private let inspector: SQLiteInspector

    init(of file: String, on process: DiskProcess) throws {
        inspector = try SQLiteInspector(file, on: process)
    }

    func facts() throws -> AuthorityFacts {
        var facts = AuthorityFacts()
        // An origin consists of version, time, client (two numbers), and incarnation, with eight bytes each. A creation
        // consists of its origin and the claimed time.
        try inspector.each("SELECT creation, origins FROM record") { row in
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
