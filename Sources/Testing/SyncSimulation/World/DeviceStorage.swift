/// How a device keeps its store.
public struct DeviceStorage: Hashable, Sendable {
    public var durability = Durability.full
    /// Whether those who read have connections of their own, as an application's screens have.
    public var hasReaders = false

    /// The build of the application that opens it.
    public var build = WorldBuild.current

    /// The store's promise for a commit that has returned.
    public enum Durability: Hashable, Sendable {
        /// It survives a loss of power.
        case full
        /// It survives the death of the process. With the power, the newest commits may be lost, back to the last flush.
        case normal
    }

    public init() {}
}
