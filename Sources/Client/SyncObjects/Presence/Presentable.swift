public import SyncModel

/// An object that can be created through the server, changed, and deleted.
///
/// Each write completes in two stages. It is *written* when the call returns: durable on this device if there is a
/// store, or answered by the server if there is none. It is *confirmed* when the server has accepted it and has sent it
/// back in a pull. Both stages can be awaited, the second one through the receipt. A presentable object is safe to use
/// from any thread.
public protocol Presentable: Indexable {
    /// The record's id; nil for a placeholder that was requested by a uid that is not here.
    var id: RecordID? { get }

    /// The stage of the object between its creation and its end.
    var presence: Presence { get }

    /// Creates the object, together with all drafts that it refers to, in one transaction.
    ///
    /// A second call returns the receipt of the first one, even for a draft that was created together with another one.
    ///
    /// - Throws: `invalidValue` when a value breaks a rule, `alreadyExists` for a record that this client did not
    ///   create since it was opened, `gone` for an object whose record was deleted, `notHere` for a placeholder, or the
    ///   failure of the source. A draft then remains a draft.
    @discardableResult func create() async throws(ModelError) -> Receipt

    /// Creates the object, for callers that are not async.
    ///
    /// - Parameters:
    ///   - written: Called once, on any thread, when the object is written; not called when writing fails.
    ///   - completion: Called once, on any thread, with the uid when the object exists on the server, or with the
    ///     failure.
    func create(
        written: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<Int, ModelError>) -> Void)

    /// Writes the properties that were set since the last save. Creates the object if it is a draft.
    ///
    /// - Returns: The receipt, which is empty when nothing was changed.
    @discardableResult func save() async throws(ModelError) -> Receipt

    /// Deletes the object. A draft is only discarded.
    ///
    /// - Returns: The receipt, which is empty when there was nothing to write.
    @discardableResult func delete() async throws(ModelError) -> Receipt

    /// Makes sure that the values are here. Without a store, this asks the server.
    ///
    /// - Throws: `notHere` when the record cannot be found, `gone` when it has been deleted, or the failure of the
    ///   source.
    func load() async throws(ModelError)

    /// Returns whether any write of the object is unconfirmed.
    func isPending() throws(ModelError) -> Bool

    /// The presence now, and again after each change that was written or arrived. The sequence ends when the object is
    /// gone.
    var updates: ObjectUpdates { get }
}

extension Presentable {
    /// Creates the object, and calls `completion` with the result.
    public func create(completion: @escaping @Sendable (Result<Int, ModelError>) -> Void) {
        create(written: {}, completion: completion)
    }

    /// Waits until the values are here, for any amount of time. Cancel the task to stop waiting.
    ///
    /// - Throws: `gone` when the object is gone, `interrupted` when the task was cancelled or the client was closed.
    public func arrival() async throws(ModelError) {
        for await presence in updates {
            switch presence {
            case .here: return
            case .gone: throw ModelError(.gone, "\(self) was deleted: it cannot arrive")
            case .draft, .awaited, .notHere: continue
            }
        }
        throw ModelError(.interrupted, "the wait for \(self) was interrupted")
    }
}
