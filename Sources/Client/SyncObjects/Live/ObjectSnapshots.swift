import SyncConcurrency
import SyncCore
public import TomboloModeling

/// The values of one object, now and after each change that was written or arrived. They include staged edits, but
/// staging an edit does not wake a waiting reader. Equal values are never repeated, and a slow reader gets the newest.
///
/// Placeholders have no values: the sequence waits until the record arrives. It ends when the object is gone, the
/// client is closed, or the task is cancelled.
public struct ObjectSnapshots<M: Model>: AsyncSequence, Sendable {
    public typealias Element = Snapshot<M>
    public typealias Failure = Never

    let object: Live<M>

    public func makeAsyncIterator() -> Iterator {
        Iterator(object: object, presence: ObjectUpdates(cell: object.cell).makeAsyncIterator())
    }

    /// The iterator, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let object: Live<M>
        var presence: ObjectUpdates.Iterator
        var last: Snapshot<M>?

        init(object: Live<M>, presence: ObjectUpdates.Iterator) {
            self.object = object
            self.presence = presence
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Snapshot<M>? {
            while let presence = await presence.next(isolation: actor) {
                guard presence == .here || presence == .draft, let snapshot = object.snapshot, snapshot != last else {
                    continue
                }
                last = snapshot
                return snapshot
            }
            return nil
        }

        public mutating func next() async -> Snapshot<M>? {
            await next(isolation: #isolation)
        }
    }
}
