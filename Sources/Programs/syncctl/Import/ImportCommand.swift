import ArgumentParser
import Foundation
import RecordImport
import SyncBootstrap
import SyncCore
import SyncModel
import SyncObjects
import SyncProgram
import TomboloCommunity

/// Imports existing data.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import the accounts of this machine, JSON Lines, or CSV.",
        discussion: """
            --passwd  Accounts, as getent passwd prints them. Each becomes a user, its
                      comment a profile with the full name, its picture (from
                      AccountsService or ~/.face) an avatar. Without FILE, reads the
                      accounts of this machine.
            --jsonl   One object per line, as list --json prints them, of any collection:
                      {"type": "user", "key": "ned", "username": "Ned", "avatar": "@ned"}
            --csv     RFC 4180. The first row names the columns: key or id, space, fields.
                      --type names the collection of the rows.

            A key is unique among the rows of a source. @key refers to the row with that key, a UUID to a record. Users need \
            no key: the username is the key. The same source and key always give the same record, so importing twice changes \
            nothing, on any device that is in sync. A deleted record stays deleted: its row is skipped. If only the \
            server knows of the delete, it rejects the transaction; run the import again.

            New records are created in the space of --space, or else in the one that their row names as space, or else in \
            default. Existing records stay in their space. A row may only refer to records of its own space.

            A broken row is reported with its line and left out; with --strict nothing is written then. FILE may be -, \
            standard input.
            """)

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Read the accounts of this machine. The default without FILE.") var passwd = false
    @Flag(help: "Read JSON Lines.") var jsonl = false
    @Flag(help: "Read CSV.") var csv = false
    @Option(help: ArgumentHelp("With --csv: the collection. Default: user.", valueName: "type")) var type: String?
    @Option(
        help: ArgumentHelp(
            "Name of the source, which distinguishes equal keys. Default: this machine for accounts, 'file' for files.",
            valueName: "name"))
    var source: String?
    @Option(
        help: ArgumentHelp(
            "Space of new records. Default: the space that the row names, or else default.", valueName: "name"))
    var space: String?
    @Flag(help: "Write nothing if any row is invalid.") var strict = false
    @Argument(help: ArgumentHelp("File to read. - reads standard input.", valueName: "file"), completion: .file())
    var file: String?

    private enum Format {
        case passwd, jsonl, csv
    }

    private func format() throws -> Format {
        switch (passwd, jsonl, csv) {
        case (true, false, false): return .passwd
        case (false, true, false): return .jsonl
        case (false, false, true): return .csv
        case (false, false, false): break
        default: throw CommandError(.usage, "expected only one of --passwd, --jsonl and --csv")
        }
        guard let file, file != "-" else {
            guard file == nil else {
                throw CommandError(
                    .usage, "the format of standard input is unknown; expected --passwd, --jsonl or --csv")
            }
            return .passwd
        }
        if file.hasSuffix(".jsonl") || file.hasSuffix(".ndjson") { return .jsonl }
        if file.hasSuffix(".csv") { return .csv }
        throw CommandError(
            .usage,
            "the format of \(file) is unknown; expected --passwd, --jsonl or --csv")
    }

    func run() async throws {
        let format = try format()
        if let type, format != .csv {
            throw CommandError(
                .usage, "--type \(type) is for --csv only",
                advice: format == .jsonl ? "each line names its type" : "accounts become users, profiles, and avatars")
        }
        let space = try space.map { name throws(CommandError) in try SpaceID(argument: name) }
        let terminal = options.terminal
        let input = try input(in: format)
        try await options.withClient { client in
            let store = try client.store
            let runtime = client.runtime
            let importer = Importer(
                store: store, space: space,
                identity: RecordIdentity(
                    source: source ?? (format == .passwd ? "machine " + ImportInput.machine() : "file")),
                rules: { [catalog = store.catalog] in try catalog.prepared($0, for: $1) }, now: runtime.now)
            let progress = Progress(terminal, uptime: runtime.uptime)
            let summary: ImportSummary
            var rows = (done: 0, total: 0)
            do {
                summary = try importer.run(try read(input, format, store.catalog), strict: strict) { done, total in
                    rows = (done, total)
                    progress.show("importing", done, of: total)
                }
            } catch {
                progress.finish()
                if rows.done > 0 {
                    terminal.note(
                        "\(rows.done) of \(rows.total) rows were imported before that; importing again adds the others")
                }
                throw error
            }
            progress.finish()
            report(summary, input.name, in: progress.elapsed, terminal)
            if summary.broken > 0 { throw CommandExitStatus.partly }
        }
    }

    /// Reads the input, before the database is opened.
    private func input(in format: Format) throws -> ImportInput {
        guard format == .passwd else { return try ImportInput(file: try named()) }
        return try file.map { try ImportInput(file: $0) } ?? ImportInput.accounts()
    }

    private func read(_ input: ImportInput, _ format: Format, _ catalog: SchemaCatalog) throws -> ImportedRows {
        switch format {
        case .passwd:
            let missing = CommunityCatalog.catalog.models.filter { catalog[$0.collection] == nil }
            guard missing.isEmpty else {
                throw CommandError(
                    .usage,
                    "accounts become users, profiles, and avatars, and this database has no collection \(missing[0].collection)",
                    advice: "import --jsonl and --csv read rows of its own collections")
            }
            return AccountImport(mapping: .community, pictureExists: ImportInput.isPicture).read(input.bytes)
        case .jsonl:
            let names = RecordNames.fields.filter { catalog[$0.key]?.field(named: $0.value) != nil }
            return JSONLinesImport(catalog: catalog, fallbackKeys: names).read(input.bytes)
        case .csv:
            let schema = try catalog.schema(named: type ?? UserSchema.schema.collection.rawValue)
            let name = RecordNames.nameField(of: schema.collection).flatMap { schema.field(named: $0) }
            return CSVImport(schema: schema, fallbackKey: name?.name).read(input.bytes)
        }
    }

    private func named() throws -> String {
        guard let file else { throw CommandError(.usage, "expected the name of a file, or - for standard input") }
        return file
    }

    private func report(_ summary: ImportSummary, _ name: String, in time: Duration, _ terminal: Terminal) {
        for problem in summary.problems {
            let place = problem.line > 0 ? "\(name):\(problem.line)" : name
            terminal.note("\(place): \(problem.reason)")
        }
        if summary.broken > summary.problems.count {
            terminal.note("… and \(summary.broken - summary.problems.count) more invalid rows")
        }
        let effect = summary.transactions > 0 ? Terminal.saved : nil
        if terminal.isJSON {
            var line = JSONLine()
            line.set("source", name)
            line.set("created", summary.created)
            line.set("updated", summary.updated)
            line.set("unchanged", summary.unchanged)
            line.set("broken", summary.broken)
            line.set("written", !summary.isStopped)
            terminal.say(line, after: effect)
        } else if summary.isStopped {
            terminal.say(
                "nothing was written: \(summary.broken) invalid \(summary.broken == 1 ? "row" : "rows") in \(name)"
            )
        } else {
            var parts = ["\(summary.created) created", "\(summary.updated) changed", "\(summary.unchanged) unchanged"]
            if summary.broken > 0 { parts.append("\(summary.broken) invalid and skipped") }
            terminal.say("\(name): \(parts.joined(separator: ", ")), in \(time.shortText)", after: effect)
        }
    }
}

extension SchemaCatalog {
    /// Returns the values in the form in which they are written: normalized and checked.
    fileprivate func prepared(_ patch: Patch, for collection: CollectionName) throws(InvalidValueError) -> Patch {
        guard let schema = self[collection] else { return patch }
        let patch = schema.normalized(patch)
        try schema.check(updating: patch)
        return patch
    }
}

extension AccountMapping {
    /// The fields of the community's models that hold an account's data.
    static let community = AccountMapping(
        user: UserSchema.schema, username: "username", userAvatar: "avatar", profile: ProfileSchema.schema,
        profileUser: "user", fullName: "full_name", avatar: AvatarSchema.schema, image: "image_url", author: "author")
}
