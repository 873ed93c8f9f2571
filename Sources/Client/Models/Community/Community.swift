public import SyncCore
public import SyncModel

/// The providers of the community's models, as the composition root hands them out.
///
/// There is one initialiser for each kind of the model; who uses the providers cannot tell which it was.
public struct Community: Sendable {
    public let users: any UserProvider
    public let avatars: any AvatarProvider
    public let profiles: any ProfileProvider

    public init(users: any UserProvider, avatars: any AvatarProvider, profiles: any ProfileProvider) {
        self.users = users
        self.avatars = avatars
        self.profiles = profiles
    }

    /// Any kind: the objects of one source.
    public init(_ objects: LiveObjects) {
        self.init(users: LiveUsers(objects), avatars: LiveAvatars(objects), profiles: LiveProfiles(objects))
    }

    /// From the local cache alone: writes are durable at once, and nothing leaves the device.
    public static func cached(store: any LocalStore, space: SpaceID = .default, runtime: EngineRuntime) -> Community {
        Community(LiveObjects(source: StoredSource(store: store, space: space, server: .none), runtime: runtime))
    }

    /// From the local cache, which an engine keeps in step with a server.
    public static func synced(store: any LocalStore, space: SpaceID = .default, runtime: EngineRuntime) -> Community {
        Community(LiveObjects(source: StoredSource(store: store, space: space, server: .inStep), runtime: runtime))
    }

    /// Straight from the server, with no store.
    ///
    /// - Parameter hash: over a transaction's canonical bytes, as the wire format defines them.
    public static func remote(
        transport: any RemoteTransport, space: SpaceID = .default, runtime: EngineRuntime,
        hash: @escaping @Sendable (Transaction) throws -> PayloadHash
    ) -> Community {
        let source = RemoteSource(
            transport: transport, catalog: CommunityCatalog.catalog, space: space, runtime: runtime, hash: hash)
        return Community(LiveObjects(source: source, runtime: runtime))
    }
}
