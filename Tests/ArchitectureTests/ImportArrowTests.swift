import Testing

@Suite struct ImportArrowTests {
    @Test func `every import is allowed by the architecture`() throws {
        let files = try SourceTree.files()
        #expect(files.count > 20, "the sources were not found below \(SourceTree.root)")
        for file in files {
            guard let allowed = ImportArrows.allowed[file.module] else {
                Issue.record("\(file.path): module \(file.module) has no row in ImportArrows.allowed")
                continue
            }
            for (module, line) in file.imports
            where !allowed.contains(module) && !ImportArrows.everywhere.contains(module) {
                Issue.record("\(file.path):\(line): \(file.module) may not import \(module)")
            }
        }
    }

    @Test func `each allowed import is used`() throws {
        let graph = try Self.graph()
        for (module, allowed) in ImportArrows.allowed.sorted(by: { $0.key < $1.key }) {
            guard let used = graph[module] else {
                Issue.record("\(module) has a row in ImportArrows.allowed, and no files")
                continue
            }
            let unused = allowed.subtracting(used).sorted()
            #expect(unused.isEmpty, "no file of \(module) imports \(unused)")
        }
    }

    @Test func `policy modules do not import adapters, directly or indirectly`() throws {
        let graph = try Self.graph()
        for module in ImportArrows.policy.sorted() {
            let reached = Self.reachable(from: module, in: graph)
            let forbidden = reached.intersection(ImportArrows.forbiddenToPolicy)
            #expect(forbidden.isEmpty, "\(module) reaches \(forbidden.sorted())")
        }
    }

    @Test func `programs and the composition root do not import test modules, directly or indirectly`() throws {
        let graph = try Self.graph()
        for module in ["SyncBootstrap", "TomboloServer", "syncctl", "syncd", "Tombolo"] where graph[module] != nil {
            let fakes = Self.reachable(from: module, in: graph).intersection(ImportArrows.testing)
            #expect(fakes.isEmpty, "\(module) reaches \(fakes.sorted())")
        }
        for module in ImportArrows.testing.sorted() where graph[module] != nil {
            let roots = Self.reachable(from: module, in: graph).intersection(["SyncBootstrap", "TomboloServer"])
            #expect(roots.isEmpty, "\(module) reaches a composition root")
        }
    }

    @Test func `a client reaches nothing of the server, and a server nothing of the client`() throws {
        let graph = try Self.graph()
        let serverOnly = try ImportArrows.serverOnly.union(SourceTree.folders(in: "Sources/Server"))
        let clientOnly = try ImportArrows.clientOnly.union(SourceTree.folders(in: "Sources/Client"))
        #expect(serverOnly.contains("SyncAuthority") && clientOnly.contains("SyncStoreSQLite"))
        for module in ImportArrows.clients {
            #expect(graph[module] != nil, "\(module) has no files")
            let reached = Self.reachable(from: module, in: graph).intersection(serverOnly)
            #expect(reached.isEmpty, "\(module) reaches \(reached.sorted())")
        }
        for (module, allowed) in ImportArrows.servers.sorted(by: { $0.key < $1.key }) {
            let reached = Self.reachable(from: module, in: graph).intersection(clientOnly)
            #expect(reached == allowed, "\(module) reaches \(reached.sorted()); expected \(allowed.sorted())")
        }
    }

    @Test func `the import graph has no cycle`() throws {
        let graph = try Self.graph()
        for module in graph.keys.sorted() {
            let reached = graph[module, default: []].reduce(into: Set<String>()) {
                $0.formUnion(Self.reachable(from: $1, in: graph))
            }
            #expect(!reached.contains(module), "\(module) imports itself through others")
        }
    }

    @Test func `the check detects a forbidden import, even an indirect one`() {
        let file = SourceTree.File(
            module: "SyncModel", path: "x.swift",
            text: "import Swift\n  public import struct SQLiteDatabase.Row\n@testable import SyncCore")
        #expect(file.imports.map(\.module) == ["Swift", "SQLiteDatabase", "SyncCore"])
        let graph: [String: Set<String>] = [
            "SyncCore": ["SyncModel"], "SyncModel": ["Detour"], "Detour": ["SQLiteDatabase"],
        ]
        #expect(Self.reachable(from: "SyncCore", in: graph).contains("SQLiteDatabase"))
    }

    private static func graph() throws -> [String: Set<String>] {
        try SourceTree.files().reduce(into: [:]) { graph, file in
            graph[file.module, default: []].formUnion(file.imports.map(\.module))
        }
    }

    /// Returns all modules that `start` imports directly or indirectly, including itself.
    private static func reachable(from start: String, in graph: [String: Set<String>]) -> Set<String> {
        var reached: Set<String> = [start]
        var frontier = [start]
        while let module = frontier.popLast() {
            for next in graph[module, default: []] where reached.insert(next).inserted { frontier.append(next) }
        }
        return reached
    }
}
