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
        // Policy.
        "SyncCore": ["SyncModel", "SyncConcurrency", "Logging"],
        "SyncAuthority": ["SyncModel", "SyncConcurrency"],
        "SyncWire": ["SyncModel", "SyncJSON", "Crypto"],
        // Text that is compiled in.
        "Schemas": [],
        // Adapters of the client.
        "SyncStoreSQLite": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncJSON", "SyncWire", "Schemas", "GRDB", "GRDBSQLite",
            "CSQLiteStore", "Foundation", "Dispatch", "Logging",
        ],
        "SyncTransportHTTP": [
            "SyncModel", "SyncCore", "SyncWire", "SyncConcurrency", "AsyncHTTPClient", "NIOCore", "NIOPosix",
            "NIOHTTP1",
            "NIOSSL", "NIOFoundationCompat", "Foundation", "Logging",
        ],
        "SyncTransportInProcess": ["SyncModel", "SyncCore", "SyncAuthority", "SyncWire", "SyncConcurrency"],
        // Adapters of the server.
        "AuthorityStoreSQLite": [
            "SyncModel", "SyncAuthority", "SyncConcurrency", "SyncJSON", "SyncWire", "Schemas", "GRDB", "GRDBSQLite",
            "Foundation", "Dispatch",
        ],
        "SyncServerHTTP": [
            "SyncModel", "SyncAuthority", "SyncWire", "SyncJSON", "SyncConcurrency", "Schemas", "Hummingbird",
            "HummingbirdCore", "HummingbirdHTTP2", "HummingbirdTLS", "HTTPTypes", "NIOCore", "NIOPosix", "NIOHTTP1",
            "NIOHTTP2", "NIOSSL", "NIOFoundationCompat", "ServiceLifecycle", "Logging", "Crypto", "Foundation",
        ],
        // The model of the application, which the engine does not know.
        "Models": ["SyncModel", "SyncCore", "SyncConcurrency", "SyncJSON", "Foundation"],
        // Programs.
        "syncbench": [
            "SyncModel", "SyncCore", "SyncStoreSQLite", "CRawSQLite", "Foundation", "ArgumentParser",
        ],
        // For tests, ours and our users'.
        "SyncTestKit": [
            "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncWire", "SyncTransportInProcess", "Models",
        ],
        "SyncSimulation": [
            "SyncModel", "SyncCore", "SyncAuthority", "SyncWire", "SyncConcurrency", "CFaultVFS",
            "CConcurrencyTripwire", "Logging",
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
