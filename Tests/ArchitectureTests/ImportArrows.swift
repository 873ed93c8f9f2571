/// The table of allowed imports: for each module, the modules that its files may import.
///
/// SwiftPM accepts an import of any module that it has built, even if the target does not declare the dependency. The
/// tests therefore compare this table with the text of every file.
enum ImportArrows {
    /// The modules of the standard library, which may be imported anywhere.
    static let everywhere: Set<String> = ["Swift", "Glibc", "Musl", "Synchronization"]

    static let allowed: [String: Set<String>] = [
        // Values.
        "SyncModel": [],
        "SyncConcurrency": [],
        "SyncJSON": [],
        "TomboloModeling": ["SyncModel", "SyncConcurrency", "FoundationEssentials", "Foundation"],
        // Policy.
        "SyncCore": ["SyncModel", "SyncConcurrency", "Logging"],
        "SyncAuthority": ["SyncModel", "SyncConcurrency", "Crypto"],
        "SyncWire": ["SyncModel", "SyncJSON", "Crypto"],
        "SyncRecording": ["SyncModel", "SyncCore", "SyncJSON", "Crypto", "Logging"],
        // Embedded text.
        "Schemas": [],
        // SQLite, for both stores. Of the modules that clients and servers link, only this one imports its C API.
        "SQLiteDatabase": ["SyncModel", "SyncConcurrency", "CSQLite"],
        // Adapters of the client.
        "SyncStoreSQLite": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncWire", "Schemas", "SQLiteDatabase", "Dispatch",
        ],
        "SyncTransportHTTP": [
            "SyncModel", "SyncConcurrency", "SyncCore", "SyncWire", "AsyncHTTPClient", "NIOCore", "NIOPosix",
            "NIOHTTP1", "NIOSSL",
        ],
        // Adapters of the server.
        "AuthorityStoreSQL": ["SyncModel", "SyncAuthority", "SyncWire"],
        "AuthorityStoreSQLite": [
            "SyncModel", "SyncAuthority", "SyncConcurrency", "Schemas", "SQLiteDatabase", "AuthorityStoreSQL",
        ],
        // Only this target imports libpq.
        "AuthorityStorePostgres": [
            "SyncModel", "SyncAuthority", "SyncConcurrency", "Schemas", "AuthorityStoreSQL", "CPostgres", "Dispatch",
        ],
        "SyncServerHTTP": [
            "SyncModel", "SyncAuthority", "SyncWire", "SyncJSON", "SyncConcurrency", "Schemas", "Hummingbird",
            "HummingbirdCore", "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOTLS", "ServiceLifecycle",
            "CoreMetrics", "Logging", "Crypto", "CryptoExtras",
        ],
        // The application's own rules, for the server's composition root and for the test kit.
        "SyncServerRules": ["SyncModel", "SyncCore", "SyncAuthority", "TomboloModeling", "Logging"],
        // Live objects and queries, and the community's models. The engine uses neither.
        "SyncObjects": ["SyncModel", "TomboloModeling", "SyncCore", "SyncConcurrency", "Observation"],
        "TomboloCommunity": ["SyncModel", "TomboloModeling", "SyncCore", "SyncObjects", "SyncJSON"],
        // The clocks, random source, threads, and network links of a real machine.
        "SyncRuntimeLive": ["SyncModel", "SyncCore", "Dispatch"],
        "SyncReachabilityLinux": ["SyncCore", "SyncConcurrency", "CNetlink"],
        // Imports of data into a local store.
        "RecordImport": ["SyncModel", "TomboloModeling", "SyncCore", "SyncJSON", "Crypto", "Foundation"],
        // Needed by every program.
        "SyncProgram": [
            "SyncModel", "TomboloModeling", "SyncConcurrency", "SyncCore", "SyncJSON", "SyncWire", "SyncRuntimeLive",
            "ServiceLifecycle", "UnixSignals", "Logging", "Foundation", "Dispatch",
        ],
        // The pages of programs. No product for clients imports it.
        "LoopbackPage": [
            "SyncProgram", "SyncModel", "SyncConcurrency", "SyncCore", "SyncJSON", "Crypto", "NIOCore", "NIOPosix",
            "NIOHTTP1",
        ],
        // The composition roots of the client and of the server. In production, only they import the stores, the
        // transport, and the HTTP server.
        "SyncBootstrap": [
            "SyncProgram", "SyncModel", "SyncConcurrency", "SyncCore", "SyncObjects", "TomboloModeling",
            "SyncStoreSQLite",
            "SyncTransportHTTP",
            "SyncRuntimeLive", "SyncReachabilityLinux", "SyncRecording", "ServiceLifecycle", "UnixSignals", "Logging",
        ],
        "TomboloServer": [
            "SyncProgram", "LoopbackPage", "SyncModel", "SyncConcurrency", "SyncCore", "SyncAuthority",
            "AuthorityStoreSQL", "AuthorityStoreSQLite",
            "AuthorityStorePostgres", "SyncServerRules", "SyncServerHTTP", "SyncRuntimeLive", "TomboloModeling",
            "ArgumentParser", "ServiceLifecycle", "UnixSignals", "CoreMetrics", "Logging", "Foundation",
        ],
        // Programs.
        "syncctl": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncJSON", "SyncProgram", "SyncBootstrap", "RecordImport",
            "SyncObjects", "TomboloModeling", "TomboloCommunity", "SyncRecording", "LoopbackPage", "ArgumentParser",
            "Crypto", "Logging",
            "Foundation",
        ],
        "contacts": ["Tombolo", "Foundation"],
        "syncd": ["TomboloServer", "TomboloCommunity", "SyncModel"],
        "syncsim": [
            "SyncConcurrency", "SyncCore", "SyncSimulation", "SimulationRecipes", "PlantedBugs", "SyncRuntimeLive",
            "ArgumentParser", "Dispatch", "Foundation",
        ],
        "BenchmarkUsers": ["SyncModel", "SyncAuthority", "AuthorityStoreSQLite", "SyncRuntimeLive"],
        "synccount": [
            "SyncModel", "SyncWire", "SyncCore", "SyncStoreSQLite", "SyncObjects", "TomboloModeling", "SyncAuthority",
            "SyncRuntimeLive", "BenchmarkUsers", "ArgumentParser", "Foundation",
        ],
        "syncbench": [
            "BenchmarkUsers", "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncStoreSQLite",
            "SyncTransportHTTP", "SyncServerHTTP", "SyncRuntimeLive", "SyncObjects", "SyncWire", "TomboloCommunity",
            "CRawSQLite", "Dispatch", "Foundation", "ArgumentParser", "Logging",
        ],
        // The product that a client imports.
        "Tombolo": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncObjects", "TomboloModeling", "SyncProgram",
            "SyncBootstrap", "Logging", "Foundation",
        ],
        // For tests of this package and of applications.
        "SyncTestKit": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncWire",
            "SyncStoreSQLite", "SyncSimulation", "SyncObjects", "TomboloModeling", "TomboloCommunity",
            "SyncRuntimeLive", "SyncServerRules", "Logging",
        ],
        "SimulationRecipes": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncSimulation", "SyncStoreSQLite",
            "AuthorityStoreSQLite", "CFaultVFS",
        ],
        "PlantedBugs": [
            "CSQLite", "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SQLiteDatabase", "SyncStoreSQLite",
            "AuthorityStoreSQLite", "SyncSimulation", "SimulationRecipes",
        ],
        "SyncSimulation": [
            "SyncModel", "SyncCore", "SyncAuthority", "SyncWire", "SyncConcurrency", "CFaultVFS",
            "CConcurrencyTripwire", "SyncJSON", "Crypto", "Logging",
        ],
    ]

    /// Modules that policy modules must not import, directly or indirectly.
    static let forbiddenToPolicy: Set<String> = [
        "CSQLite", "SQLiteDatabase", "SQLite3", "NIOCore", "NIOPosix", "NIOHTTP1", "AsyncHTTPClient",
        "Hummingbird",
        "Foundation",
        "FoundationEssentials", "Dispatch", "SyncJSON", "SyncWire", "ArgumentParser",
    ]

    /// The composition root, the product, and the programs of a client.
    static let clients = ["SyncBootstrap", "Tombolo", "contacts", "syncctl"]

    /// Modules outside `Sources/Server` that a client must not link.
    static let serverOnly: Set<String> = ["TomboloServer", "Hummingbird", "HummingbirdCore"]

    /// The composition root and the program of a server, each with the modules of `Sources/Client` that it may link.
    ///
    /// A server uses `EngineRuntime` of `SyncCore` for time, random numbers, and tasks. `syncd` serves the models of
    /// `TomboloCommunity`, which are declared for live objects.
    static let servers: [String: Set<String>] = [
        "TomboloServer": ["SyncCore"],
        "syncd": ["SyncCore", "SyncObjects", "TomboloCommunity"],
    ]

    /// Modules outside `Sources/Client` that a server must not link.
    static let clientOnly: Set<String> = ["SyncBootstrap", "Tombolo", "AsyncHTTPClient"]

    static let policy: Set<String> = ["SyncModel", "SyncConcurrency", "SyncCore", "SyncAuthority"]

    /// Test modules, which no module of a production program may import.
    static let testing: Set<String> = ["SyncTestKit", "SyncSimulation"]
}
