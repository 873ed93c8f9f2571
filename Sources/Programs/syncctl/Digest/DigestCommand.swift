import ArgumentParser
import SyncBootstrap
import SyncConcurrency
import SyncCore
import SyncModel
import SyncProgram

/// Prints digests of the records of this device, or of the server.
struct DigestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "digest", abstract: "Print digests of the records of this device, to compare devices.",
        discussion: """
            Prints one digest for each collection in each space that this device follows. With --remote, all records \
            of these spaces are downloaded from the server, and the local ones are not read.
            """)

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Use the records of the server.") var remote = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --remote: the longest time to wait for the server's records, such as 5m. Default: no limit.",
            valueName: "duration"), transform: SyncCommand.duration)
    var wait: Duration?

    /// The digest of one collection in one space.
    private typealias Row = (space: SpaceID, schema: ModelSchema, digest: RecordDigest)

    func validate() throws {
        guard wait == nil || remote else { throw ValidationError("--wait needs --remote") }
    }

    func run() async throws {
        let terminal = options.terminal
        let rows = try await options.withClient { client in try await digests(client) }
        if terminal.isJSON {
            for (space, schema, digest) in rows {
                var line = JSONLine()
                line.set("space", space.rawValue)
                line.set("type", schema.collection.rawValue)
                line.set("records", digest.count)
                line.set("digest", digest.text)
                terminal.say(line)
            }
            return
        }
        var table = Table([
            .init(title: "SPACE"), .init(title: "TYPE"), .init(title: "RECORDS", isNumber: true),
            .init(title: "DIGEST"),
        ])
        for (space, schema, digest) in rows {
            table.add([space.rawValue, schema.collection.rawValue, String(digest.count), digest.text])
        }
        table.print(to: terminal)
    }

    private func digests(_ client: ClientComposition) async throws -> [Row] {
        let store = try client.store
        let progress = Progress(options.terminal, uptime: client.runtime.uptime)
        defer { progress.finish() }
        let spaces = try store.followedSpaces().map(\.space)
        var digests: [SpaceID: [CollectionName: RecordDigest]] = [:]
        if remote {
            let account = try store.session().account
            let catalog = store.catalog
            let transport = PatientTransport(
                try client.transport, clock: client.runtime.clock, allPauses: wait ?? .seconds(60))
            digests = try await within(wait, client.runtime.clock) {
                var digests: [SpaceID: [CollectionName: RecordDigest]] = [:]
                for space in spaces {
                    digests[space] = try await RemoteDigests.read(
                        space, from: transport, as: account, catalog, progress)
                }
                return digests
            }
        } else {
            for schema in store.catalog.models {
                progress.show("reading \(schema.collection)")
                for (space, digest) in try local(schema, store) {
                    digests[space, default: [:]][schema.collection] = digest
                }
            }
        }
        return spaces.flatMap { space in
            store.catalog.models.map { schema in
                (space, schema, digests[space]?[schema.collection] ?? RecordDigest(of: schema))
            }
        }
    }

    /// Returns the result of `body`. After `time`, cancels `body` and throws; nil means no limit.
    private func within<Result: Sendable>(
        _ time: Duration?, _ clock: any Clock<Duration>, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let time else { return try await body() }
        return try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await clock.sleep(for: time)
                throw CommandError(
                    .notSynced, "the server had not sent all its records after \(time.shortText)",
                    advice: "give the command more time with --wait")
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }

    /// Returns the digests of a collection of this device, by space.
    private func local(_ schema: ModelSchema, _ store: any LocalStore) throws(StoreError) -> [SpaceID: RecordDigest] {
        let digests = Guarded<[SpaceID: RecordDigest]>([:])
        try store.forEachRecord(matching: RecordQuery(schema.collection)) { record, space in
            digests.withLock { $0[space, default: RecordDigest(of: schema)].add(record) }
        }
        return digests.withLock { $0 }
    }
}
