import SyncModel
import TomboloModeling

/// The parts that all objects of one model share.
final class LiveKind<M: Model>: Sendable {
    let shape: ModelShape<M>
    let schema: ModelSchema
    /// The path under which observers of an object track it. Creating a key path for each access would be slow.
    let version: any KeyPath<Live<M>, Int> & Sendable = \Live<M>.version

    init(_ shape: ModelShape<M>) {
        self.shape = shape
        schema = shape.schema
    }

    var collection: CollectionName { schema.collection }
}
