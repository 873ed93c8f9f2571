public import SyncModel

/// The settings of a device's store.
public struct DeviceStorage: Hashable, Sendable {
    public var durability = Durability.full
    /// Whether readers have their own connections, as the screens of an application have.
    public var hasReaders = false

    /// The build of the application that opens the store.
    public var build = WorldBuild.current

    public init() {}
}
