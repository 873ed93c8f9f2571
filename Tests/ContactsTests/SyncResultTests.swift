import Testing

@testable import Tombolo
@testable import contacts

@Suite struct SyncResultTests {
    /// Returns the status of a client that has had contact with the server.
    private func status(pending: Int = 0, waiting: Int = 0, rejected: Int = 0, hasAccess: Bool = true) -> ClientStatus {
        ClientStatus(
            phase: .live, reason: "", pending: pending, waiting: waiting, rejected: rejected, pausedUntil: nil,
            lastInSync: nil, isInSync: pending == 0,
            spaces: [ClientStatus.Space(space: .default, isComplete: true, hasAccess: hasAccess)])
    }

    @Test func `a sync without the right to read is not called in sync`() throws {
        let result = try #require(SyncResult(status(hasAccess: false), isLate: false))
        #expect(result.line == "the account may not read default: its contacts are no longer here")
        #expect(result.exitStatus == 5)
        #expect(status(hasAccess: false).description == "live, no access to default")
        #expect(try #require(SyncResult(status(), isLate: false)).line == "in sync")
        #expect(status().description == "live")
    }

    @Test func `changes that wait for a newer server are not said to be sent later`() throws {
        let result = try #require(SyncResult(status(pending: 3, waiting: 3), isLate: true))
        #expect(result.line == "not in sync yet; 3 changes are kept here and sent when the server is upgraded")
        #expect(
            try #require(SyncResult(status(pending: 1), isLate: true)).line.hasSuffix(
                "1 change is kept here and sent later"))
    }
}
