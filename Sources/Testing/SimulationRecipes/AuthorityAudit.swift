import SyncModel
import SyncSimulation

/// Reads facts from the file of the authority's store.
struct AuthorityAudit: AuthorityInspector {
    private let inspector: SQLiteInspector

    init(of file: String, on process: DiskProcess) throws {
        inspector = try SQLiteInspector(file, on: process)
    }

    func facts() throws -> AuthorityFacts {
        var facts = AuthorityFacts()
        // Numbers have eight bytes, and a client id is two numbers:
        // - an origin is a version, a time, a client id, and an incarnation;
        // - a creation is an origin and the claimed time;
        // - a deletion is a time and a client id;
        // - an equal edit is the position of a field, a time, and a client id.
        try inspector.each("SELECT creation, origins, deletion, equal_edits FROM record") { row in
            let times =
                Self.times(in: row.bytes(0).prefix(40), every: 40, at: 8)
                + Self.times(in: row.bytes(1), every: 40, at: 8)
                + Self.times(in: row.bytes(2), every: 24, at: 0)
                + Self.times(in: row.bytes(3), every: 32, at: 8)
            facts.latestStamp = max(facts.latestStamp, times.max() ?? .zero)
        }
        return facts
    }

    /// Returns the time of each entry of a stored list.
    ///
    /// - Parameters:
    ///   - size: the length of an entry, in bytes.
    ///   - offset: the position of the time in an entry, in bytes.
    private static func times(in bytes: some Collection<UInt8>, every size: Int, at offset: Int) -> [HybridTime] {
        let bytes = Array(bytes)
        return stride(from: offset, to: bytes.count, by: size).map { start in
            HybridTime(rawValue: bytes[start..<(start + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
    }
}
