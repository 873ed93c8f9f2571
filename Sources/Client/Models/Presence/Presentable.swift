public import SyncModel

/// An object that can be created through the server, changed and deleted.
///
/// Every write has two moments: it is *written* when the call returns (durable here where there is a store, answered by
/// the server where there is none), and *confirmed* when the server has it and has shown it back. Both can be
/// awaited, the second through the receipt. Safe to use from any thread.
public protocol Presentable: Indexable {
    /// Nil for a placeholder that was asked for by a uid that is not here.
    var id: RecordID? { get }

    var presence: Presence { get }

    /// Creates the object, together with all drafts that it refers to, in one transaction.
    ///
    /// Calling it again, also for a draft that was created along with another, gives the receipt of the first time.
    /// - Throws: `invalidValue` when a value breaks a rule, `alreadyExists` for an object that was not made here, or
    ///   what the source failed with. The object is still a draft then.
    @discardableResult func create() async throws(ModelFailure) -> Receipt

    /// The same for callers that are not async.
    ///
    /// - Parameters:
    ///   - written: called once when the object is durable here, on any thread; not when it fails before.
    ///   - completion: called once, on any thread: the uid when the object exists remotely, or what went wrong.
    func create(
        written: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<Int, ModelFailure>) -> Void)

    /// Writes the properties that were set since the last time; creates a draft.
    /// - Returns: nil when nothing was changed.
    @discardableResult func save() async throws(ModelFailure) -> Receipt?

    /// Deletes the object; a draft is only dropped.
    /// - Returns: nil when there was nothing to write.
    @discardableResult func delete() async throws(ModelFailure) -> Receipt?

    /// Makes sure that the values are here, and asks the server where that is the way to get them.
    /// - Throws: `notHere` when there is no such object in reach, `gone` when there was one.
    func load() async throws(ModelFailure)

    /// Whether something that was written has not been confirmed.
    func isPending() throws(ModelFailure) -> Bool

    /// The presence now, and again after each change that was written or arrived; ends when the object is gone.
    var updates: ObjectUpdates { get }
}

extension Presentable {
    public func create(completion: @escaping @Sendable (Result<Int, ModelFailure>) -> Void) {
        create(written: {}, completion: completion)
    }

    /// Waits until the values are here, for as long as that takes: cancel the task to stop waiting.
    /// - Throws: `gone` when there is nothing to wait for, `interrupted` when the task was cancelled.
    public func arrival() async throws(ModelFailure) {
        for await presence in updates {
            switch presence {
            case .here: return
            case .gone: throw ModelFailure(.gone, "\(self) is gone: it will not arrive")
            case .draft, .awaited, .notHere: continue
            }
        }
        throw ModelFailure(.interrupted, "the wait for \(self) was interrupted")
    }
}
