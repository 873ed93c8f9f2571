import Logging
import SyncConcurrency
import SyncCore
import SyncModel
import SyncProgram
import Testing
import TomboloCommunity

@testable import SyncBootstrap

/// Records the names of the parts that a composition creates.
private final class Workshop: Sendable {
    let made = Guarded<[String]>([])

    func note(_ part: String) { made.withLock { $0.append(part) } }
    var list: [String] { made.withLock { $0 } }
}

private struct NoLinks: Reachability {
    let current = LinkState.down("unplugged")
    let changes = Broadcast<LinkState>()
    func run() async throws {}
}

@Suite struct CompositionTests {
    private func settings(_ flags: [String: String] = [:]) throws -> ClientSettings {
        let sources = ConfigurationSources(
            ProgramNames("syncctl"), flags: try ConfigurationFlags(settings: flags.map { "\($0)=\($1)" }),
            variables: ["HOME": "/nonexistent"], file: nil)
        return try ClientSettings(ResolvedConfiguration(sources))
    }

    private func recipes(_ workshop: Workshop) -> ClientRecipes {
        var recipes = ClientRecipes.live
        let live = recipes.machine
        recipes.machine.runtime = { settings in
            workshop.note("runtime")
            return live.runtime(settings)
        }
        recipes.machine.reachability = { _ in
            workshop.note("reachability")
            return NoLinks()
        }
        recipes.store.open = { (_, _, _, _) throws(StoreError) in
            workshop.note("store")
            throw StoreError(.diskFull, "no room")
        }
        recipes.remote.connect = { (server, _, _) throws(ConfigurationError) in
            workshop.note("transport")
            throw ConfigurationError("no way to \(server.address)")
        }
        return recipes
    }

    private func client(_ workshop: Workshop, _ flags: [String: String] = [:]) throws -> ClientComposition {
        ClientComposition(
            settings: try settings(flags), models: CommunityCatalog.registered, recipes: recipes(workshop),
            logger: Logger(label: "test"),
            creatingStore: false)
    }

    @Test func `parts are created on first use and only once`() throws {
        let workshop = Workshop()
        let client = try client(workshop)
        #expect(workshop.list.isEmpty)
        #expect(client.reachability.current == .down("unplugged"))
        _ = client.reachability
        _ = client.runtime
        _ = client.runtime
        #expect(workshop.list == ["reachability", "runtime"])
    }

    @Test func `a part that could not be created is created again on the next use`() throws {
        let workshop = Workshop()
        let client = try client(workshop)
        for _ in 0..<2 { #expect(throws: StoreError.self) { try client.store } }
        #expect(workshop.list == ["runtime", "store", "store"])
    }

    @Test func `without a server no transport is created, and the access fails`() throws {
        let workshop = Workshop()
        let client = try client(workshop)
        #expect(throws: ConfigurationError.self) { try client.transport }
        #expect(!workshop.list.contains("transport"))
        let other = try self.client(workshop, ["server.url": "http://127.0.0.1:1"])
        #expect(throws: ConfigurationError("no way to http://127.0.0.1:1")) { try other.transport }
    }
}
