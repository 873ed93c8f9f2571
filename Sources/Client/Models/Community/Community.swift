public import SyncCore
public import SyncModel

/// The providers of the community's models, as the composition root hands them out.
///
/// There is one initializer for each kind of source. Users of the providers cannot tell which one was used.
public struct Community: Sendable {
    public let users: any UserProvider
    public let avatars: any AvatarProvider
    public let profiles: any ProfileProvider

    public init(users: any UserProvider, avatars: any AvatarProvider, profiles: any ProfileProvider) {
        self.users = users
        self.avatars = avatars
        self.profiles = profiles
    }

    /// Creates the providers for the objects of any source.
    public init(_ objects: LiveObjects) {
        self.init(users: LiveUsers(objects), avatars: LiveAvatars(objects), profiles: LiveProfiles(objects))
    }

    /// Returns providers over the local cache only. Writes are durable at once, and nothing leaves the device.
    public static func cached(store: any LocalStore, space: SpaceID = .default, runtime: EngineRuntime) -> Community {
        Community(LiveObjects(source: StoredSource(store: store, space: space, server: .none), runtime: runtime))
    }

    /// Returns providers over the local cache, which an engine keeps in sync with a server.
    public static func synced(store: any LocalStore, space: SpaceID = .default, runtime: EngineRuntime) -> Community {
        Community(LiveObjects(source: StoredSource(store: store, space: space, server: .inStep), runtime: runtime))
    }

    /// Returns providers that talk directly to the server, with no store.
    ///
    /// - Parameter hash: Returns the hash of a transaction's canonical bytes, as the wire format defines them.
    public static func remote(
        transport: any RemoteTransport, space: SpaceID = .default, runtime: EngineRuntime,
        hash: @escaping @Sendable (Transaction) throws -> PayloadHash
    ) -> Community {
        let source = RemoteSource(
            transport: transport, catalog: CommunityCatalog.catalog, space: space, runtime: runtime, hash: hash)
        return Community(LiveObjects(source: source, runtime: runtime))
    }
}
