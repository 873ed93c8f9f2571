import SyncConcurrency
import SyncCore
public import SyncModel

/// A class of live objects. A model adds its properties and inherits the rest from here.
public protocol LiveModel: Presentable, CustomStringConvertible {
    static var kind: ModelKind { get }
    var record: LiveRecord { get }
    init(record: LiveRecord)
}

extension LiveModel {
    public var uid: Int { Int(record.cell.uid.rawValue) }

    public var id: RecordID? { record.id }

    public var presence: Presence { record.cell.presence }

    @discardableResult public func create() async throws(ModelFailure) -> Receipt {
        try await record.objects.create(record.cell)
    }

    public func create(
        written: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result<Int, ModelFailure>) -> Void
    ) {
        // Spawn a task, so that both callbacks run outside the caller's stack for every kind of source.
        _ = record.objects.runtime.spawn { [self] in
            do throws(ModelFailure) {
                let receipt = try await create()
                written()
                completion(.success(try await receipt.confirmation()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    @discardableResult public func save() async throws(ModelFailure) -> Receipt? {
        try await record.objects.save(record.cell)
    }

    @discardableResult public func delete() async throws(ModelFailure) -> Receipt? {
        try await record.objects.delete(record.cell)
    }

    public func load() async throws(ModelFailure) {
        try await record.objects.load(record.cell)
    }

    public func isPending() throws(ModelFailure) -> Bool {
        guard let id, presence != .draft else { return false }
        return try record.objects.source.isPending(Self.kind.collection, id)
    }

    public var updates: ObjectUpdates {
        ObjectUpdates(cell: record.cell)
    }
}
