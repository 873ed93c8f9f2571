import SyncCore
public import SyncModel
public import TomboloModeling

extension Live {
    public var uid: Int {
        track()
        return Int(cell.uid.rawValue)
    }

    public var id: RecordID? { cell.id }

    /// The stage of the object between its creation and its end.
    public var presence: Presence {
        track()
        return cell.presence
    }

    @discardableResult public func create() async throws(ModelError) -> Receipt {
        try await cell.objects.create(cell)
    }

    public func create(
        written: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<Int, ModelError>) -> Void
    ) {
        // Spawned, so that both closures are called outside the caller's stack, whatever the source.
        _ = cell.objects.runtime.spawn { [self] in
            do throws(ModelError) {
                let receipt = try await create()
                written()
                completion(.success(try await receipt.confirmed()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    @discardableResult public func save() async throws(ModelError) -> Receipt {
        try await cell.objects.save(cell)
    }

    @discardableResult public func delete() async throws(ModelError) -> Receipt {
        try await cell.objects.delete(cell)
    }

    public func load() async throws(ModelError) {
        try await cell.objects.load(cell)
    }

    public func isPending() throws(ModelError) -> Bool {
        guard let id, presence != .draft else { return false }
        return try cell.objects.source.isPending(cell.collection, id)
    }

    public var updates: ObjectUpdates {
        ObjectUpdates(cell: cell)
    }

    /// The values of the object, with its unsaved edits, now and again after each change that was written or arrived.
    ///
    /// The sequence ends when the object is gone, the client is closed, or the task is cancelled.
    public var snapshots: ObjectSnapshots<M> {
        ObjectSnapshots(object: self)
    }
}

/// A model that defines the description of its objects.
public protocol DescribedModel: Model {
    /// Returns the text for an object that is here, was here, or is a draft.
    static func description(of object: Live<Self>) -> String
}

extension Live: CustomStringConvertible {
    /// The text that the model defines, or the collection with the id or the uid.
    public var description: String {
        switch presence {
        case .awaited, .notHere: return cell.label
        case .draft, .here, .gone: break
        }
        func text<Described: DescribedModel>(_ type: Described.Type) -> String? {
            (self as? Live<Described>).map(Described.description(of:))
        }
        guard let type = M.self as? any DescribedModel.Type else { return cell.label }
        return text(type) ?? cell.label
    }
}
