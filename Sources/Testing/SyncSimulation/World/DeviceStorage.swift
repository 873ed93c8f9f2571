/// The settings of a device's store.
public struct DeviceStorage: Hashable, Sendable {
    public var durability = Durability.full
    /// Whether readers have their own connections, as the screens of an application have.
    public var hasReaders = false

    /// The build of the application that opens the store.
    public var build = WorldBuild.current

    /// The store's guarantee for a commit that has returned.
    public enum Durability: Hashable, Sendable {
        /// The commit survives a loss of power.
        case full
        /// The commit survives the death of the process. A loss of power may lose the newest commits, back to the last
        /// flush.
        case normal
    }

    public init() {}
}
