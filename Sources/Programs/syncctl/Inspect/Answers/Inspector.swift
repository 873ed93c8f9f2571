import Glibc
import LoopbackPage
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram
import TomboloCommunity

/// Answers the calls of the page: reads and writes the store, and returns JSON.
///
/// It uses the same parts as the commands, so that the page shows what they print, and refuses what they refuse.
actor Inspector {
    nonisolated let store: any EngineStore & LocalStore
    let settings: ClientSettings
    let runtime: EngineRuntime
    nonisolated let news = StoreNewsFeed()
    /// The space of new records; nil for the space of the records that they refer to.
    let newRecordSpace: SpaceID?
    /// The file that the store has opened.
    private let file: FileIdentity?
    private let leasing: @Sendable () throws(StoreError) -> LeaseAttempt
    private nonisolated let executor: ActorExecutor

    /// - Parameter leasing: tries to become the process that syncs the database, to tell whether there is one.
    init(
        store: any EngineStore & LocalStore, settings: ClientSettings, runtime: EngineRuntime, newRecordSpace: SpaceID?,
        leasing: @escaping @Sendable () throws(StoreError) -> LeaseAttempt
    ) {
        self.store = store
        self.settings = settings
        self.runtime = runtime
        self.newRecordSpace = newRecordSpace
        file = FileIdentity(path: settings.store.file)
        self.leasing = leasing
        executor = ActorExecutor(runtime)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.unownedExecutor }

    /// Returns the result of a call.
    ///
    /// A call for news returns at once; `StoreNewsFeed.wait` waits for them.
    func answer(_ call: InspectCall, _ arguments: PageArguments) throws(PageError) -> JSONLine {
        guard FileIdentity(path: settings.store.file) == file else {
            throw PageError(
                500,
                "\(settings.store.file) was deleted or replaced while it was open; this page shows the former file",
                advice: "end syncctl inspect, and start it again")
        }
        do {
            switch call {
            case .summary: return try summary(arguments)
            case .news: return try news(arguments)
            case .list: return try list(arguments)
            case .record: return try record(arguments)
            case .outbox: return try outbox(arguments)
            case .journal: return try journal(arguments)
            case .create: return try create(arguments)
            case .update: return try update(arguments)
            case .delete: return try delete(arguments)
            case .restore: return try restore(arguments)
            case .dismiss: return try dismiss(arguments)
            }
        } catch {
            throw PageError(wrapping: error)
        }
    }

    // MARK: Status

    /// Returns the status, the collections with their fields, and the number of their records.
    private func summary(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require()
        var line = JSONLine()
        // The number is read first, so that no change is missed.
        line.set("news", news.current.latest)
        line.set("status", try status())
        line.set("newRecordSpace", newRecordSpace?.rawValue)
        line.set(
            "collections",
            try store.catalog.models.map { model in
                var line = JSONLine()
                line.set("name", model.collection.rawValue)
                line.set("count", try store.count(matching: RecordQuery(model.collection)))
                line.set("nameField", RecordNames.nameField(of: model.collection)?.rawValue)
                line.set("isUser", model.collection == UserSchema.schema.collection)
                line.set("fields", model.fields.map(Self.line))
                return line
            })
        return line
    }

    private static func line(_ field: FieldSchema) -> JSONLine {
        var line = JSONLine()
        line.set("name", field.name.rawValue)
        line.set("type", field.type.rawValue)
        line.set("isDate", field.isDate)
        line.set("required", field.isRequired)
        line.set("target", field.target?.rawValue)
        line.set("maximumBytes", field.maximumBytes)
        line.set("bounds", field.bounds?.description)
        return line
    }

    private func status() throws -> JSONLine {
        let report = try StatusReport(
            of: store, settings, engine: StatusReport.engine(leasing), now: runtime.now(),
            contact: settings.server == nil ? .noServer : .notAsked)
        var line = report.line
        line.set("in_sync", try store.progress().isInSync)
        line.set("pending", report.outbox.count)
        line.set("clock", report.clockText)
        return line
    }

    // MARK: News

    private func news(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "since")
        let since = try arguments.requiredNumber("since")
        let news = news.current
        var line = JSONLine()
        line.set("news", news.latest)
        let parts = news.parts(since: since, in: store.catalog)
        line.set("collections", (parts?.collections ?? []).map(\.rawValue))
        line.set("outbox", parts?.outbox ?? false)
        line.set("spaces", parts?.spaces ?? false)
        // Even without news, because another process may have recorded a sync, and the file may have been replaced.
        line.set("status", try status())
        return line
    }

    // MARK: Outbox and journal

    private func outbox(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "after", "limit")
        let entries = try store.outbox(
            after: try arguments.number("after").map(OutboxSequence.init),
            limit: try arguments.limit(upTo: InspectLimits.entries))
        var line = JSONLine()
        line.set(
            "entries",
            entries.map { entry in
                var line = entry.line
                line.set("what", TransactionText.summary(entry.transaction))
                line.set("words", entry.words)
                return line
            })
        if let last = entries.last, try !store.outbox(after: last.sequence, limit: 1).isEmpty {
            line.set("next", last.sequence.rawValue)
        }
        return line
    }

    private func journal(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "after", "all", "limit")
        let state: JournalEntry.State? = try arguments.flag("all") ? nil : .active
        let entries = try store.journal(
            state: state, after: try arguments.number("after"), limit: try arguments.limit(upTo: InspectLimits.entries))
        let clients = try store.clients()
        var line = JSONLine()
        line.set(
            "entries",
            try entries.map { entry in
                let rows = try JournalShape.serverRows(of: entry, in: store)
                var line = JournalShape.line(entry, rows: rows, catalog: store.catalog, clients: clients)
                line.set("what", JournalShape.what(entry))
                line.set("why", JournalShape.why(entry))
                return line
            })
        if let last = entries.last, try !store.journal(state: state, after: last.number, limit: 1).isEmpty {
            line.set("next", last.number)
        }
        return line
    }
}

/// Tells whether a path still leads to the same file.
private struct FileIdentity: Equatable {
    private let device: UInt64
    private let inode: UInt64

    /// Returns nil if there is no file, or if its status cannot be read.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
