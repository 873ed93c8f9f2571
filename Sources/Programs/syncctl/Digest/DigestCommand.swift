import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// Prints fingerprints of the records of this device, or of the server.
struct DigestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "digest", abstract: "Print fingerprints of the records of this device, to compare devices.",
        discussion: "With --remote, all records are downloaded from the server, and the local ones are not read.")

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Use the records of the server.") var remote = false

    func run() async throws {
        let terminal = options.terminal
        let digests = try await options.withClient { client in try await fingerprints(client) }
        if terminal.isJSON {
            for (schema, digest) in digests {
                var line = JSONLine()
                line.set("type", schema.collection.rawValue)
                line.set("records", digest.count)
                line.set("digest", digest.text)
                terminal.say(line)
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
        var theirs: [CollectionName: RecordDigest]?
        if remote {
            let account = try client.store.session().account
            theirs = try await RemoteDigests.read(from: client.transport, as: account, catalog, progress)
        }
        for schema in catalog.models {
            var digest = theirs?[schema.collection] ?? RecordDigest()
            if theirs == nil {
                progress.show("reading \(schema.collection)")
                // This is one read into memory, because pages would skip or repeat rows while a sync changes them.
                let records = try client.store.records(matching: RecordQuery(schema.collection, order: .id))
                for record in records { digest.add(record, schema) }
            }
            digests.append((schema, digest))
        }
        progress.finish()
        return digests
    }
}
