public import SyncCore
public import SyncModel
public import SyncObjects

/// The providers of the community's models.
///
/// `cached`, `synced`, and `remote` return the community over one source each. Code that uses the providers does not
/// depend on the source.
public struct Community: Sendable {
    /// The provider of users, who can be authors in `avatars` and have profiles in `profiles`.
    public let users: any UserProvider
    /// The provider of avatars, for authors from `users`.
    public let avatars: any AvatarProvider
    /// The provider of profiles, for users from `users`.
    public let profiles: any ProfileProvider

    /// Creates a community from any providers, such as the fakes of a test.
    ///
    /// The providers must accept each other's objects: live objects of two clients cannot refer to each other.
    public init(users: any UserProvider, avatars: any AvatarProvider, profiles: any ProfileProvider) {
        self.users = users
        self.avatars = avatars
        self.profiles = profiles
    }

    /// Creates the community of a client, or of a device of the test kit.
    ///
    /// - Throws: `invalidModel` if the client was opened without ``CommunityCatalog/models``.
    public init(_ access: some ModelAccess) throws(ModelError) {
        self.init(
            users: try access.provider(of: UserModel.self), avatars: try access.provider(of: AvatarModel.self),
            profiles: try access.provider(of: ProfileModel.self))
    }

    /// Creates a community over any source that has the community's schemas.
    public init(source: any ModelSource, runtime: EngineRuntime) {
        do {
            try self.init(LiveObjects(source: source, models: CommunityCatalog.registered, runtime: runtime))
        } catch {
            preconditionFailure("the community's own models: \(error)")
        }
    }

    /// Returns a community over the local store alone: writes are durable at once, and nothing leaves the device.
    public static func cached(store: any LocalStore, space: SpaceID = .default, runtime: EngineRuntime) -> Community {
        Community(source: StoredSource(store: store, space: space, server: .none), runtime: runtime)
    }

    /// Returns a community over a local store that an engine keeps in sync with a server.
    public static func synced(store: any LocalStore, space: SpaceID = .default, runtime: EngineRuntime) -> Community {
        Community(source: StoredSource(store: store, space: space, server: .synced), runtime: runtime)
    }

    /// Returns a community over the server, without a store.
    ///
    /// - Parameter hash: Returns the hash of a transaction's canonical bytes, as the wire format defines them.
    public static func remote(
        transport: any RemoteTransport, space: SpaceID = .default, runtime: EngineRuntime,
        hash: @escaping @Sendable (Transaction) throws -> PayloadHash
    ) -> Community {
        let source = RemoteSource(
            transport: transport, catalog: CommunityCatalog.catalog, space: space, runtime: runtime, hash: hash)
        return Community(source: source, runtime: runtime)
    }
}
