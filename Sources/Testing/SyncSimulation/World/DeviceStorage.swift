public import SyncModel

/// The settings of a device's store.
public struct DeviceStorage: Hashable, Sendable {
    public var durability = Durability.full
    /// Whether readers have their own connections, as the screens of an application have.
    public var hasReaders = false

    /// Whether the journal holds at most `smallJournal` entries that the user has not handled.
    public var hasSmallJournal = false

    /// The limits of a small journal: the number of entries from which on new edits are refused, and the number of
    /// notices from which on further ones wait on the server.
    public static let smallJournal = (entries: 14, notices: 4)

    /// The build of the application that opens the store.
    public var build = WorldBuild.current

    public init() {}
}
