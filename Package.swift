// swift-tools-version: 6.2
import PackageDescription

/// Whether to build for coverage-guided fuzzing, with instrumented targets and the program `syncfuzz`. See tools/fuzz.
let isFuzzing = Context.environment["TOMBOLO_FUZZ"] == "1"
let fuzzing = ["-sanitize=fuzzer,address"]

/// Whether warnings are errors. The tools of this package set the variable; dependent packages do not. See
/// tools/lib/setup.sh.
let areWarningsErrors = Context.environment["TOMBOLO_WARNINGS"] == "errors"

/// The settings of every Swift target.
let strict: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
    ] + (areWarningsErrors ? [.treatAllWarnings(as: .error)] : [])
    + (isFuzzing ? [.unsafeFlags(fuzzing)] : [])

let package = Package(
    name: "tombolo",
    products: [
        .library(name: "Tombolo", targets: ["Tombolo"]),
        .library(name: "TomboloCommunity", targets: ["TomboloCommunity"]),
        .library(name: "TomboloModeling", targets: ["TomboloModeling"]),
        .library(name: "TomboloServer", targets: ["TomboloServer"]),
        .executable(name: "syncctl", targets: ["syncctl"]),
        .executable(name: "syncd", targets: ["syncd"]),
        .executable(name: "syncsim", targets: ["syncsim"]),
        .library(name: "SyncTestKit", targets: ["SyncTestKit"]),
        .library(name: "SyncSimulation", targets: ["SyncSimulation"]),
    ],
    dependencies: [
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        // The model: only values.
        .target(name: "SyncModel"),

        // The lock and the in-memory fan-out that all targets share.
        .target(name: "SyncConcurrency"),

        // The declarations of models, which clients and servers share.
        .target(name: "TomboloModeling", dependencies: ["SyncModel", "SyncConcurrency"]),

        // The JSON reader and writer. No dependencies.
        .target(name: "SyncJSON"),

        // The wire format. No other target knows it.
        .target(
            name: "SyncWire",
            dependencies: ["SyncModel", "SyncJSON", .product(name: "Crypto", package: "swift-crypto")]),

        // Policy. Does not use SQL, HTTP, JSON, files, or the system clock.
        .target(
            name: "SyncCore",
            dependencies: ["SyncModel", "SyncConcurrency", .product(name: "Logging", package: "swift-log")]),
        .target(
            name: "SyncAuthority",
            dependencies: ["SyncModel", "SyncConcurrency", .product(name: "Crypto", package: "swift-crypto")]),

        // The flight recorder: redaction, file format, and replay.
        .target(
            name: "SyncRecording",
            dependencies: [
                "SyncModel", "SyncCore", "SyncJSON", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Schemas: one source for SQL, wire and configuration; code embeds these files.
        .target(
            name: "Schemas", path: "Schemas", exclude: ["wire/examples", "config", "recording", "catalog"],
            resources: [
                .embedInCode("local/m0001_local_cache.sql"), .embedInCode("authority/m0001_authority.sql"),
                .embedInCode("authority-postgres/p0001_authority.sql"),
                .embedInCode("wire/openapi.json"),
            ]),

        // SQLite: its C API, and the layer over it that both stores use.
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "SQLiteDatabase", dependencies: ["SyncModel", "SyncConcurrency", "CSQLite"]),

        // Adapters. Each implements ports, and only the composition root imports it.
        // Adapters of the client.
        .target(
            name: "SyncStoreSQLite",
            dependencies: [
                "SyncModel", "SyncCore", "SyncConcurrency", "SyncWire", "Schemas", "SQLiteDatabase",
            ]),
        .target(
            name: "SyncTransportHTTP",
            dependencies: [
                "SyncModel", "SyncConcurrency", "SyncCore", "SyncWire",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),

        // Adapters of the server. The statements of its store are the same for every SQL database.
        .target(name: "AuthorityStoreSQL", dependencies: ["SyncModel", "SyncAuthority", "SyncWire"]),
        .target(
            name: "AuthorityStoreSQLite",
            dependencies: [
                "SyncModel", "SyncAuthority", "SyncConcurrency", "Schemas", "SQLiteDatabase", "AuthorityStoreSQL",
            ]),
        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "AuthorityStorePostgres",
            dependencies: [
                "SyncModel", "SyncAuthority", "SyncConcurrency", "Schemas", "AuthorityStoreSQL", "CPostgres",
            ]),
        // The application's own rules for writes, for the server and for the test kit.
        .target(
            name: "SyncServerRules",
            dependencies: [
                "SyncModel", "SyncCore", "SyncAuthority", "TomboloModeling",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .target(
            name: "SyncServerHTTP",
            dependencies: [
                "SyncModel", "SyncAuthority", "SyncWire", "SyncJSON", "SyncConcurrency", "Schemas",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // Live objects and typed queries of any models.
        .target(
            name: "SyncObjects", dependencies: ["SyncModel", "TomboloModeling", "SyncCore", "SyncConcurrency"]),
        // The community's models. Engine and stores know only their schemas.
        .target(
            name: "TomboloCommunity",
            dependencies: [
                "SyncModel", "TomboloModeling", "SyncCore", "SyncConcurrency", "SyncObjects", "SyncJSON",
            ]),

        // The test kit, for this package and for applications. Production programs never link it.
        .target(
            name: "SyncTestKit",
            dependencies: [
                "SyncModel", "SyncCore", "SyncAuthority", "SyncWire", "SyncConcurrency",
                "SyncStoreSQLite", "SyncSimulation", "SyncObjects", "TomboloModeling", "TomboloCommunity",
                "SyncRuntimeLive", "SyncServerRules",
                .product(name: "Logging", package: "swift-log"),
            ]),

        // The simulation: virtual time, seeded choices, and fault injection for disk and network.
        .target(name: "CConcurrencyTripwire"),
        .target(name: "CFaultVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "SyncSimulation",
            dependencies: [
                "CConcurrencyTripwire", "CFaultVFS", "SyncModel", "SyncConcurrency", "SyncCore", "SyncAuthority",
                "SyncWire", "SyncJSON", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            resources: [
                .embedInCode("Report/report.html"), .embedInCode("Report/report.css"),
                .embedInCode("Report/report.js"),
            ]),

        // Production parts for simulated worlds, and the program that runs the worlds.
        .target(
            name: "SimulationRecipes",
            dependencies: [
                "CFaultVFS", "SyncConcurrency", "SyncModel", "SyncCore", "SyncAuthority", "SyncStoreSQLite",
                "AuthorityStoreSQLite", "SyncSimulation",
            ]),
        // Bugs that are planted in worlds to check the oracles.
        .target(
            name: "PlantedBugs",
            dependencies: [
                "CSQLite", "SyncConcurrency", "SyncModel", "SyncCore", "SyncAuthority", "SQLiteDatabase",
                "SyncStoreSQLite", "AuthorityStoreSQLite", "SyncSimulation", "SimulationRecipes",
            ]),
        .executableTarget(
            name: "syncsim",
            dependencies: [
                "SyncConcurrency", "SyncCore", "SyncSimulation", "SimulationRecipes", "PlantedBugs", "SyncRuntimeLive",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),

        // The benchmarks. No other target links them.
        .target(name: "CRawSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "BenchmarkUsers",
            dependencies: ["SyncModel", "SyncAuthority", "AuthorityStoreSQLite", "SyncRuntimeLive"]),
        // The hot paths alone, for a tool that counts instructions.
        .executableTarget(
            name: "synccount",
            dependencies: [
                "SyncModel", "SyncWire", "SyncCore", "SyncStoreSQLite", "SyncObjects", "TomboloModeling",
                "SyncAuthority", "SyncRuntimeLive", "BenchmarkUsers",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .executableTarget(
            name: "syncbench",
            dependencies: [
                "BenchmarkUsers", "SyncModel", "SyncCore", "SyncConcurrency", "SyncAuthority", "SyncStoreSQLite",
                "SyncTransportHTTP", "SyncServerHTTP", "SyncRuntimeLive", "SyncObjects", "SyncWire", "TomboloModeling",
                "TomboloCommunity", "CRawSQLite",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // The system's clocks, random source, and threads, and its network links and routes.
        .target(name: "SyncRuntimeLive", dependencies: ["SyncModel", "SyncCore"]),
        .target(name: "CNetlink"),
        .target(
            name: "SyncReachabilityLinux", dependencies: ["SyncConcurrency", "SyncCore", "CNetlink"]),

        // Import into a local store: accounts, JSON Lines, CSV.
        .target(
            name: "RecordImport",
            dependencies: [
                "SyncModel", "TomboloModeling", "SyncCore", "SyncJSON",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),

        // The composition root, and the programs.
        // For every program: configuration, terminal, log, signals.
        .target(
            name: "SyncProgram",
            dependencies: [
                "SyncModel", "TomboloModeling", "SyncConcurrency", "SyncCore", "SyncJSON", "SyncWire",
                "SyncRuntimeLive", .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        // A page that a program serves to the browsers of its own machine.
        .target(
            name: "LoopbackPage",
            dependencies: [
                "SyncProgram", "SyncModel", "SyncConcurrency", "SyncCore", "SyncJSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            resources: [.embedInCode("Page/page.css"), .embedInCode("Page/page.js")]),
        // The client's.
        .target(
            name: "SyncBootstrap",
            dependencies: [
                "SyncProgram", "SyncModel", "SyncConcurrency", "SyncCore", "SyncRuntimeLive", "SyncStoreSQLite",
                "SyncTransportHTTP", "SyncObjects", "TomboloModeling", "SyncReachabilityLinux", "SyncRecording",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        // The product that a client program imports.
        .target(
            name: "Tombolo",
            dependencies: [
                "SyncModel", "SyncCore", "SyncConcurrency", "SyncObjects", "TomboloModeling", "SyncProgram",
                "SyncBootstrap", .product(name: "Logging", package: "swift-log"),
            ]),
        // The server's, and what a server program imports.
        .target(
            name: "TomboloServer",
            dependencies: [
                "SyncProgram", "LoopbackPage", "SyncModel", "SyncConcurrency", "SyncCore", "SyncAuthority",
                "SyncRuntimeLive",
                "SyncServerRules", "SyncServerHTTP", "AuthorityStoreSQL", "AuthorityStoreSQLite",
                "AuthorityStorePostgres",
                "TomboloModeling",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("Inspect/Page/server.html"), .embedInCode("Inspect/Page/server.js")]),
        .executableTarget(name: "syncd", dependencies: ["TomboloServer", "TomboloCommunity", "SyncModel"]),
        .executableTarget(
            name: "syncctl",
            dependencies: [
                "SyncModel", "SyncConcurrency", "SyncCore", "SyncProgram", "SyncBootstrap", "RecordImport", "SyncJSON",
                "SyncObjects", "TomboloModeling", "TomboloCommunity", "SyncRecording", "LoopbackPage",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            resources: [.embedInCode("Inspect/Page/inspect.html"), .embedInCode("Inspect/Page/inspect.js")]),

        // A contact book: an example of a client to copy from.
        .executableTarget(name: "contacts", dependencies: ["Tombolo"]),
        .testTarget(name: "ContactsTests", dependencies: ["contacts", "Tombolo", "SyncTestKit"]),

        // Every decoder of bytes from outside, with its required property, for ordinary tests and for the fuzzer.
        .target(
            name: "ForeignBytes",
            dependencies: [
                "SyncModel", "SyncCore", "SyncJSON", "SyncWire", "SyncAuthority", "SyncRecording",
                "RecordImport", "SyncStoreSQLite", "SyncTransportHTTP", "SyncServerHTTP", "SyncProgram",
                "SyncBootstrap",
                "TomboloServer", "SyncObjects", "TomboloModeling", "TomboloCommunity", "SyncSimulation",
            ],
            path: "Tests/ForeignBytes"),
        .testTarget(
            name: "ForeignBytesTests", dependencies: ["TestRings", "ForeignBytes", "SyncSimulation"]),

        // Selects the tests of a run.
        .target(name: "TestRings", path: "Tests/TestRings"),
        .testTarget(name: "ArchitectureTests"),
        .testTarget(
            name: "SQLiteDatabaseTests", dependencies: ["TestRings", "SQLiteDatabase", "CSQLite", "SyncConcurrency"]),
        .testTarget(name: "TomboloModelingTests", dependencies: ["TestRings", "TomboloModeling", "SyncModel"]),
        // The smallest client, to see what a client links.
        .executableTarget(name: "SmallClient", dependencies: ["Tombolo"], path: "Tests/SmallClient"),
        // Names that products must not export.
        .target(name: "CommonNames", path: "Tests/CommonNames"),
        .testTarget(
            name: "TomboloTests",
            dependencies: [
                "TestRings", "CommonNames", "Tombolo", "TomboloCommunity", "SyncTestKit", "SmallClient", "SyncCore",
                "SyncConcurrency", "SyncSimulation", .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(name: "SyncConcurrencyTests", dependencies: ["SyncConcurrency"]),
        .testTarget(name: "SyncModelTests", dependencies: ["TestRings", "SyncModel"]),
        .testTarget(name: "SyncJSONTests", dependencies: ["TestRings", "SyncJSON"]),
        .testTarget(name: "SyncWireTests", dependencies: ["TestRings", "SyncWire", "SyncModel", "SyncJSON"]),
        .testTarget(
            name: "SyncAuthorityTests",
            dependencies: [
                "TestRings", "SyncAuthority", "SyncConcurrency", "SyncModel", "SyncTestKit", "SyncWire",
                "SyncSimulation",
            ]),
        .testTarget(
            name: "AuthorityStoreSQLiteTests",
            dependencies: [
                "TestRings", "AuthorityStoreSQLite", "SyncAuthority", "SyncModel", "SyncWire", "SyncTestKit",
                "SyncSimulation", "SimulationRecipes", "SQLiteDatabase",
            ]),
        .testTarget(
            name: "AuthorityStorePostgresTests",
            dependencies: [
                "TestRings", "AuthorityStorePostgres", "AuthorityStoreSQL", "AuthorityStoreSQLite", "SQLiteDatabase",
                "SyncAuthority", "SyncConcurrency", "SyncModel", "SyncTestKit",
            ]),
        .testTarget(name: "SyncCoreTests", dependencies: ["TestRings", "SyncCore", "SyncModel"]),
        .testTarget(
            name: "SyncRecordingTests",
            dependencies: [
                "TestRings", "SyncRecording", "SyncCore", "SyncModel", "SyncJSON", "SyncConcurrency",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "SyncStoreSQLiteTests",
            dependencies: [
                "TestRings", "Schemas", "SyncModel", "SyncCore", "SyncConcurrency", "SyncStoreSQLite", "SyncTestKit",
                "SyncSimulation", "SimulationRecipes", "CSQLite", "SQLiteDatabase",
            ],
            exclude: ["local-schema.golden.sql"]),
        .testTarget(
            name: "SyncTransportTests",
            dependencies: [
                "TestRings", "SyncModel", "SyncCore", "SyncAuthority", "SyncJSON", "SyncWire", "SyncConcurrency",
                "SyncTransportHTTP", "SyncServerHTTP", "SyncTestKit", "SyncSimulation", "Schemas",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "ModelsTests",
            dependencies: [
                "TestRings", "SyncObjects", "TomboloModeling", "TomboloCommunity", "SyncTestKit", "SyncStoreSQLite",
                "SyncModel", "SyncCore", "SyncConcurrency",
                "SyncWire", "SyncAuthority", "AuthorityStoreSQLite",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "SyncSimulationTests",
            dependencies: [
                "TestRings", "SyncSimulation", "SimulationRecipes", "PlantedBugs", "CFaultVFS", "SyncConcurrency",
                "SyncCore", "SyncModel", "SyncAuthority", "SyncStoreSQLite", "AuthorityStoreSQLite", "SyncWire",
                "SyncRecording", "SyncTestKit", "SQLiteDatabase",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["KeptScripts"]),
        .testTarget(
            name: "SyncReachabilityLinuxTests",
            dependencies: ["TestRings", "SyncReachabilityLinux", "SyncCore", "SyncTestKit"]),
        .testTarget(
            name: "RecordImportTests",
            dependencies: ["TestRings", "RecordImport", "SyncModel", "SyncCore", "SyncStoreSQLite", "SyncSimulation"]),
        .testTarget(
            name: "SyncBootstrapTests",
            dependencies: [
                "TestRings", "Tombolo", "SyncProgram", "SyncBootstrap", "SyncAuthority", "SyncModel", "SyncCore",
                "SyncConcurrency", "SyncSimulation", "SyncTransportHTTP", "SyncTestKit", "SyncWire",
                "ConfigurationChecks",
                .product(name: "Logging", package: "swift-log"),
            ]),
        // What holds of the settings of any program.
        .target(name: "ConfigurationChecks", dependencies: ["SyncProgram"], path: "Tests/ConfigurationChecks"),
        // Requests to pages, and checks of the files of any page.
        .target(
            name: "PageChecks", dependencies: ["LoopbackPage", "SyncJSON"], path: "Tests/PageChecks"),
        .testTarget(
            name: "LoopbackPageTests",
            dependencies: ["TestRings", "LoopbackPage", "PageChecks", "SyncProgram", "SyncConcurrency", "SyncJSON"]),
        .testTarget(
            name: "TomboloServerTests",
            dependencies: [
                "TestRings", "LoopbackPage", "PageChecks", "SyncJSON",
                "TomboloServer", "SyncServerRules", "TomboloModeling", "CommonNames", "SyncProgram", "SyncAuthority",
                "SyncModel",
                "SyncCore",
                "SyncConcurrency", "SyncSimulation", "SyncServerHTTP", "SyncTransportHTTP", "SyncTestKit", "SyncWire",
                "SyncRuntimeLive",
                "ConfigurationChecks",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "SyncTestKitTests",
            dependencies: [
                "TestRings", "SyncTestKit", "SyncSimulation", "SyncStoreSQLite", "SyncObjects", "TomboloModeling",
                "TomboloCommunity", "SyncCore", "SyncModel", "SyncConcurrency",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "SyncctlTests",
            dependencies: [
                "TestRings", "syncctl", "syncd", "syncsim", "contacts", "SyncConcurrency", "SyncProgram",
                "SyncBootstrap", "RecordImport", "SyncModel", "SyncCore", "SyncJSON", "SyncSimulation", "LoopbackPage",
                "PageChecks",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .testTarget(name: "SyncbenchTests", dependencies: ["BenchmarkUsers", "syncbench"]),
        // Tests of the programs with real processes, signals, sockets, and disks.
        .testTarget(
            name: "BlackBoxTests",
            dependencies: [
                "TestRings", "syncctl", "syncd", "SyncConcurrency", "SyncSimulation", "CSQLite",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

if isFuzzing {
    package.targets += [
        .target(name: "CLibFuzzer", path: "Tests/CLibFuzzer"),
        .executableTarget(
            name: "syncfuzz", dependencies: ["CLibFuzzer", "ForeignBytes"], path: "Tests/syncfuzz",
            linkerSettings: [.unsafeFlags(fuzzing + ["-use-ld=lld"])]),
    ]
}

/// The side of the sync that each target is on. It is the first level of folders in Sources.
let sides = [
    "Shared": [
        "SyncModel", "TomboloModeling", "SyncConcurrency", "SyncJSON", "SyncWire", "CSQLite", "SQLiteDatabase",
        "SyncRuntimeLive",
    ],
    "Client": [
        "SyncCore", "SyncStoreSQLite", "SyncTransportHTTP", "SyncReachabilityLinux", "CNetlink", "SyncRecording",
        "SyncObjects", "TomboloCommunity", "RecordImport",
    ],
    "Server": [
        "SyncAuthority", "AuthorityStoreSQL", "AuthorityStoreSQLite", "CPostgres", "AuthorityStorePostgres",
        "SyncServerRules", "SyncServerHTTP",
    ],
    "Root": ["SyncProgram", "LoopbackPage", "SyncBootstrap", "Tombolo", "TomboloServer"],
    "Programs": ["syncctl", "syncd", "syncsim", "syncbench", "synccount", "contacts", "CRawSQLite", "BenchmarkUsers"],
    "Testing": [
        "SyncTestKit", "SyncSimulation", "SimulationRecipes", "PlantedBugs", "CFaultVFS", "CConcurrencyTripwire",
    ],
]

for (side, names) in sides {
    for target in package.targets where names.contains(target.name) { target.path = "Sources/\(side)/\(target.name)" }
}

// Only the names of C targets begin with a C.
for target in package.targets where !target.name.hasPrefix("C") { target.swiftSettings = strict }
