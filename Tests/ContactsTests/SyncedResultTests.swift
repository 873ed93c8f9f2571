import Testing

@testable import Tombolo
@testable import contacts

@Suite struct SyncedResultTests {
    /// Returns the status of a client that has had contact with the server.
    private func status(rejected: Int = 0, hasAccess: Bool = true) -> ClientStatus {
        ClientStatus(
            phase: .live, reason: "", pending: 0, waiting: 0, rejected: rejected, pausedUntil: nil,
            lastInSync: nil, isInSync: true,
            spaces: [ClientStatus.Space(space: .default, isComplete: true, hasAccess: hasAccess)])
    }

    @Test func `a sync without the right to read is not called in sync`() {
        let result = Contacts.syncedResult(in: status(hasAccess: false))
        #expect(result == ("the account may not read default: its contacts are no longer here", 5))
        #expect(status(hasAccess: false).description == "live, no access to default")
    }

    @Test func `a sync names the changes that nobody has decided about`() {
        #expect(Contacts.syncedResult(in: status()) == ("in sync", 0))
        let result = Contacts.syncedResult(in: status(rejected: 2))
        #expect(result == ("in sync; the server has rejected or lost 2: see contacts problems", 0))
        #expect(status().description == "live")
    }
}
