public import SyncModel

/// The part of a server that its application brings: its models.
public struct ServerApplication: Sendable {
    public var catalog: SchemaCatalog

    public init(catalog: SchemaCatalog) {
        self.catalog = catalog
    }
}
