import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import TomboloCommunity
import TomboloModeling

/// The kinds of the model, each as a composition of its own; tests are the same for all.
enum Kind: CaseIterable, Sendable {
    /// In memory, or with a double on the other side.
    case mock, cached, remote, synced
    /// SQLite, the real engine and the real authority.
    case cachedSQLite, remoteAuthority, syncedEngine

    /// Whether anything gets a uid here.
    var hasServer: Bool { self != .cached && self != .cachedSQLite }

    func world() throws -> World {
        switch self {
        case .mock: return World(community: .mock())
        case .cached:
            return World(community: .cached(store: TinyStore(), runtime: .mock()), hasServer: false)
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
            return World(community: .remote(transport: TinyServer(), runtime: .mock(), hash: Self.hash))
        case .synced:
            let store = TinyStore()
            return World(community: .synced(store: store, runtime: .mock()), server: { store.confirmAll() })
        }
    }

    @Sendable static func hash(_ transaction: Transaction) -> PayloadHash {
        PayloadHash(rawValue: "\(transaction.hashValue)")
    }
}

struct World: Sendable {
    let community: Community
    /// Whether anything gets a uid here.
    var hasServer = true
    /// Lets the server do its part, where it does not do it by itself.
    var server: @Sendable () -> Void = {}

    var users: any UserProvider { community.users }
    var avatars: any AvatarProvider { community.avatars }
    var profiles: any ProfileProvider { community.profiles }

    /// Waits for the confirmation where there is somebody to give it.
    func confirm(_ receipt: Receipt) async throws {
        server()
        if hasServer { _ = try await receipt.confirmed() }
    }
}
