import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel

/// Fingerprints of what is here, or of what the server has.
struct DigestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "digest", abstract: "Fingerprints of what this device holds, to compare it with others.",
        discussion: "With --remote all records are fetched from the server, and the local ones are not looked at.")

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Of what the server holds.") var remote = false

    func run() async throws {
        let terminal = options.terminal
        let digests = try await options.withClient { client in try await fingerprints(client) }
        if terminal.isJSON {
            for (schema, digest) in digests {
                var line = JSONLine()
                line.set("type", schema.collection.rawValue)
                line.set("records", digest.count)
                line.set("digest", digest.text)
                terminal.say(line.text)
            }
            return
        }
        var table = Table([.init(title: "TYPE"), .init(title: "RECORDS", isNumber: true), .init(title: "DIGEST")])
        for (schema, digest) in digests { table.add([schema.collection.rawValue, String(digest.count), digest.text]) }
        table.print(to: terminal)
    }

    private func fingerprints(_ client: ClientComposition) async throws -> [(schema: ModelSchema, digest: RecordDigest)]
    {
        let progress = Progress(options.terminal, uptime: client.runtime.uptime)
        let catalog = try client.store.catalog
        var digests: [(schema: ModelSchema, digest: RecordDigest)] = []
        let replica = remote ? try await RemoteReplica(client.transport, catalog, progress) : nil
        for schema in catalog.models {
            var digest = RecordDigest()
            if let replica {
                for record in replica.records(of: schema.collection) { digest.add(record, schema) }
            } else {
                try Self.read(schema, try client.store, progress) { digest.add($0, schema) }
            }
            digests.append((schema, digest))
        }
        progress.finish()
        return digests
    }

    private static func read(
        _ schema: ModelSchema, _ store: any LocalStore, _ progress: Progress, _ body: (Record) -> Void
    ) throws {
        var query = RecordQuery(schema.collection, order: .id, limit: page)
        while true {
            let records = try store.records(matching: query)
            for record in records { body(record) }
            guard records.count == page else { return }
            query.offset += page
            progress.show("reading \(schema.collection): \(query.offset)")
        }
    }

    private static let page = 1_000
}
