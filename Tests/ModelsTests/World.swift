import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import TomboloCommunity
import TomboloModeling

/// The ways to compose the community: as a mock, with a local store, with a server, or with both. The same tests run
/// with each of them.
enum CommunityComposition: CaseIterable, Sendable {
    /// These work in memory, with test doubles for the store and the server.
    case mock, cached, remote, synced
    /// These use SQLite, the real engine, and the real authority.
    case cachedSQLite, remoteAuthority, syncedEngine

    /// Whether a server assigns uids.
    var hasServer: Bool { self != .cached && self != .cachedSQLite }

    func world() throws -> World {
        switch self {
        case .mock: return World(community: .mock())
        case .cached:
            return World(community: .cached(store: InMemoryStore(), runtime: .mock()), hasServer: false)
        case .cachedSQLite:
            let folder = try ScratchFolder()
            let store = try folder.open(.mock())
            return World(
                community: .cached(store: store, runtime: .mock()), hasServer: false,
                server: { withExtendedLifetime(folder) {} })
        case .remoteAuthority:
            return World(community: try LiveServer().community)
        case .syncedEngine:
            let device = try LiveDevice(LiveServer())
            return World(community: device.community, server: { withExtendedLifetime(device) {} })
        case .remote:
            return World(community: .remote(transport: InMemoryServer(), runtime: .mock(), hash: Self.hash))
        case .synced:
            let store = InMemoryStore()
            return World(community: .synced(store: store, runtime: .mock()), server: { store.confirmAll() })
        }
    }

    @Sendable static func hash(_ transaction: Transaction) -> PayloadHash {
        PayloadHash(rawValue: "\(transaction.hashValue)")
    }
}

struct World: Sendable {
    let community: Community
    /// Whether a server assigns uids.
    var hasServer = true
    /// Simulates the work of the server, if no server runs by itself. The closure also keeps the world's folder or
    /// device alive.
    var server: @Sendable () -> Void = {}

    var users: any UserProvider { community.users }
    var avatars: any AvatarProvider { community.avatars }
    var profiles: any ProfileProvider { community.profiles }

    /// Waits for the confirmation if there is a server.
    func confirm(_ receipt: Receipt) async throws {
        server()
        if hasServer { _ = try await receipt.confirmed() }
    }
}
