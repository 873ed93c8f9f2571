public import SyncModel

/// How a device keeps its store.
public struct DeviceStorage: Hashable, Sendable {
    public var durability = Durability.full
    /// Whether those who read have connections of their own, as an application's screens have.
    public var hasReaders = false

    /// The build of the application that opens it.
    public var build = WorldBuild.current

    public init() {}
}
