import SimulationRecipes
import SyncModel
import SyncSimulation
import TestRings
import Testing

/// Tests how the oracles read the server's file.
@Suite(.ring(.unit)) struct AuthorityAuditTests {
    /// Returns an SQL blob of zeros that has a number in the eight bytes at a position.
    private static func zeros(_ length: Int, with number: UInt64, at position: Int) -> String {
        let digits = String(number, radix: 16)
        let padded = String(repeating: "0", count: 16 - digits.count) + digits
        return "x'" + String(repeating: "00", count: position) + padded
            + String(repeating: "00", count: length - position - 8) + "'"
    }

    /// Each column of `record` that holds stamps, with contents in which the latest stamp is 77.
    static let places: [(column: String, contents: String)] = [
        ("creation", zeros(48, with: 77, at: 8)), ("origins", zeros(80, with: 77, at: 48)),
        ("deletion", zeros(24, with: 77, at: 0)), ("equal_edits", zeros(64, with: 77, at: 40)),
    ]

    @Test(arguments: places)
    func `the latest stamp of the server is found in each column that holds stamps`(column: String, contents: String)
        throws
    {
        let process = SimulatedDisk(seed: 1).makeProcess()
        let database = try RawConnection("/authority.sqlite", on: process)
        try database.run("CREATE TABLE record (creation BLOB, origins BLOB, deletion BLOB, equal_edits BLOB)")
        try database.run("INSERT INTO record VALUES (\(Self.zeros(48, with: 5, at: 8)), x'', NULL, x'')")
        try database.run("UPDATE record SET \(column) = \(contents)")
        let audit = try #require(WorldParts.onSQLite().auditAuthority)
        #expect(try audit(process).facts().latestStamp == HybridTime(rawValue: 77))
    }
}
