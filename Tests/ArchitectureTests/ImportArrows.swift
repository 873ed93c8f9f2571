/// The arrows of import, as they are meant to be: each module with all that its files may import.
///
/// SwiftPM does not see an import that no dependency declares but that is built anyway, so this table is checked
/// against the text of every file.
enum ImportArrows {
    /// May be imported anywhere: the standard library's own modules.
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
        // Text that is compiled in.
        "Schemas": [],
        // Adapters of the client.
        "SyncStoreSQLite": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncWire", "Schemas", "GRDB", "GRDBSQLite", "CSQLiteStore",
            "Dispatch",
        ],
        "SyncTransportHTTP": [
            "SyncModel", "SyncConcurrency", "SyncCore", "SyncWire", "AsyncHTTPClient", "NIOCore", "NIOPosix",
            "NIOHTTP1", "NIOSSL",
        ],
        "SyncTransportInProcess": ["SyncModel", "SyncCore", "SyncAuthority", "SyncWire", "SyncConcurrency"],
        // Adapters of the server.
        "AuthorityStoreSQLite": [
            "SyncModel", "SyncAuthority", "SyncConcurrency", "SyncWire", "Schemas", "CSQLiteStore", "GRDB",
            "Foundation",
        ],
        "SyncServerHTTP": [
            "SyncModel", "SyncAuthority", "SyncWire", "SyncConcurrency", "Schemas", "Hummingbird", "HummingbirdCore",
            "HummingbirdHTTP2", "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOTLS", "ServiceLifecycle",
            "Logging",
            "Crypto",
        ],
        // The model of the application, which the engine does not know.
        "SyncObjects": ["SyncModel", "TomboloModeling", "SyncCore", "SyncConcurrency", "Observation"],
        "TomboloCommunity": ["SyncModel", "TomboloModeling", "SyncCore", "SyncObjects", "SyncJSON"],
        // Time, chance, threads and links of a real machine.
        "SyncRuntimeLive": ["SyncModel", "SyncCore", "Dispatch"],
        "SyncReachabilityLinux": ["SyncCore", "SyncConcurrency", "CNetlink", "Dispatch"],
        // Real input for a local store.
        "RecordImport": ["SyncModel", "SyncCore", "SyncJSON", "Crypto", "Foundation"],
        // The composition root, which alone sees the adapters.
        "SyncBootstrap": [
            "SyncModel", "SyncConcurrency", "SyncCore", "SyncAuthority", "SyncJSON", "SyncObjects", "TomboloModeling", "TomboloCommunity", "SyncStoreSQLite",
            "SyncTransportHTTP",
            "AuthorityStoreSQLite", "SyncServerHTTP", "SyncRuntimeLive", "SyncReachabilityLinux", "SyncRecording",
            "Configuration", "ServiceLifecycle", "UnixSignals", "Logging", "Foundation",
        ],
        // Programs.
        "syncctl": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncJSON", "SyncBootstrap", "RecordImport", "SyncObjects",
            "TomboloCommunity",
            "SyncRecording", "ArgumentParser", "Crypto", "Logging", "Foundation",
        ],
        "syncd": ["SyncBootstrap", "ArgumentParser", "Foundation"],
        "syncsim": [
            "SyncConcurrency", "SyncCore", "SyncSimulation", "SimulationRecipes", "SyncRuntimeLive", "ArgumentParser",
            "Dispatch", "Foundation",
        ],
        "syncbench": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncStoreSQLite", "AuthorityStoreSQLite",
            "SyncTransportHTTP", "SyncServerHTTP", "SyncRuntimeLive", "SyncObjects", "TomboloCommunity", "CRawSQLite", "Foundation",
            "ArgumentParser",
            "Logging",
        ],
        // The product that a client imports.
        "Tombolo": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncObjects", "TomboloModeling", "SyncBootstrap", "Logging",
            "Foundation",
        ],
        // For tests, ours and our users'.
        "SyncTestKit": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncWire", "SyncTransportInProcess",
            "SyncStoreSQLite", "SyncSimulation", "SyncObjects", "TomboloModeling", "TomboloCommunity", "Logging",
        ],
        "SimulationRecipes": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncSimulation", "SyncStoreSQLite",
            "AuthorityStoreSQLite", "CFaultVFS",
        ],
        "SyncSimulation": [
            "SyncModel", "SyncCore", "SyncAuthority", "SyncWire", "SyncConcurrency", "CFaultVFS",
            "CConcurrencyTripwire", "SyncJSON", "Crypto", "Logging",
        ],
    ]

    /// Modules that policy must not reach, not even through others.
    static let forbiddenToPolicy: Set<String> = [
        "GRDB", "GRDBSQLite", "SQLite3", "NIOCore", "NIOPosix", "NIOHTTP1", "AsyncHTTPClient", "Hummingbird",
        "Foundation",
        "FoundationEssentials", "Dispatch", "SyncJSON", "SyncWire", "ArgumentParser", "Configuration",
    ]

    static let policy: Set<String> = ["SyncModel", "SyncConcurrency", "SyncCore", "SyncAuthority"]

    /// Programs and the composition root: nothing that is linked into a production program may reach these.
    static let testing: Set<String> = ["SyncTestKit", "SyncSimulation"]
}
