import SyncConcurrency
import SyncCore
import SyncModel
import Testing

@testable import SyncObjects

/// Tests how a sequence of lists treats a read that fails.
@Suite struct QueryUpdatesTests {
    @Test func `a read that has failed is tried again by the next call, without another change`() async throws {
        let changes = Broadcast<StoreChange>()
        let reads = Guarded(0)
        @Sendable func read() async throws(ModelError) -> [(record: Record, object: Int)] {
            let read = reads.withLock { reads in
                reads += 1
                return reads
            }
            guard read != 2 else { throw ModelError(.store, "the disk does not answer") }
            let id = RecordID(bits: Identifier128(high: 1, low: UInt64(read)))
            return [(Record(id: id, uid: .none, version: .zero, values: []), read)]
        }
        let updates = QueryUpdates<Int>(collection: "todo", changes: changes, isEnded: { false }, read: read)
        var lists = updates.makeAsyncIterator()
        #expect(try await lists.next() == [1])
        var change = StoreChange()
        change.touch("todo", RecordID(bits: Identifier128(high: 1, low: 1)))
        changes.publish(change)
        await #expect(throws: ModelError.self) { try await lists.next() }
        #expect(try await lists.next() == [3])
    }
}
