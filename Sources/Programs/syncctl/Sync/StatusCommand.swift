import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// Shows the records and the outbox of this device, and whether the server is reachable.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the records and the outbox of this device, and whether the server is reachable.")

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Do not contact the server.") var local = false

    func run() async throws {
        let terminal = options.terminal
        let report = try await options.withClient(requestTimeout: GlobalOptions.quickTimeout) { client in
            let store = try client.store
            let session = try store.session()
            let contact = await contact(client, as: session.account)
            return try StatusReport(
                of: store, client.settings, engine: StatusReport.engine(client.leasing), now: client.runtime.now(),
                contact: contact)
        }
        if terminal.isJSON {
            terminal.say(report.line)
        } else {
            report.print(to: terminal)
        }
    }

    private func contact(_ client: ClientComposition, as account: AccountID?) async -> StatusReport.Contact {
        guard let server = client.settings.server else { return .noServer }
        if case .down(let reason) = client.reachability.current { return .offline(reason) }
        guard !local else { return .notAsked }
        if let problem = server.tokenProblem { return .refused(problem.message) }
        let start = client.runtime.uptime()
        do {
            let hello = try await client.transport.hello()
            if let refusal = hello.refusal(for: account) { return .refused(refusal.message) }
            let clock = ClockComparison(device: client.runtime.now(), server: hello.wallTime)
            return .online(hello.epoch, client.runtime.uptime() - start, clock)
        } catch let failure as TransportError {
            if failure.code == .unauthorized, server.token == nil {
                return .refused("no token is configured: write one into a file, and set server.token-file to its path")
            }
            if failure.asksToWait {
                return .paused(failure.message, until: failure.retryAfter.map(client.runtime.now().advanced(by:)))
            }
            return failure.refusesDevice ? .refused(failure.message) : .offline(failure.message)
        } catch let problem as ConfigurationError {
            return .refused(problem.message)
        } catch {
            return .offline("\(error)")
        }
    }
}

/// The output of `status`.
struct StatusReport {
    let session: StoredSession
    let outbox: OutboxSummary
    /// The stored results of earlier contacts.
    let memory: ServerContact
    /// The process that syncs this database; nil when there is none.
    let engine: String?
    let server: String?
    let file: String
    let environment: DeploymentEnvironment
    let now: WallTime
    let contact: Contact

    enum Contact {
        case noServer
        case notAsked
        case online(Epoch, Duration, ClockComparison)
        case offline(String)
        /// The server has asked to wait: until this time, or without naming one.
        case paused(String, until: WallTime?)
        case refused(String)

        var word: String {
            switch self {
            case .noServer: "no_server"
            case .notAsked: "not_asked"
            case .online: "online"
            case .offline: "offline"
            case .paused: "paused"
            case .refused: "refused"
            }
        }
    }

    /// Reads the state of the store.
    ///
    /// - Parameter engine: the process that syncs the database; nil when there is none.
    init(
        of store: any EngineStore & LocalStore, _ settings: ClientSettings, engine: String?, now: WallTime,
        contact: Contact
    ) throws(StoreError) {
        session = try store.session()
        outbox = try store.outboxSummary()
        memory = try store.contact()
        self.engine = engine
        server = settings.server?.address.description
        file = settings.store.file
        environment = settings.environment
        self.now = now
        self.contact = contact
    }

    /// Returns the process that syncs the database; nil when there is none.
    ///
    /// - Parameter leasing: tries to become that process. The lease is held only for this check.
    static func engine(_ leasing: () throws(StoreError) -> LeaseAttempt) throws(StoreError) -> String? {
        switch try leasing() {
        case .acquired: nil
        case .held(let process): process.map(String.init) ?? "unknown"
        }
    }

    /// The clock difference from the server's response or, without one, from the last contact; nil before the first
    /// contact.
    private var clock: ClockComparison? {
        if case .online(_, _, let clock) = contact { return clock }
        return session.clockOffset.map { ClockComparison(lead: -$0.wholeMilliseconds) }
    }

    /// The end of the pause that this server asked for, just now or in a sync; nil when there is none, or when it is
    /// over.
    private var pausedUntil: WallTime? {
        if case .paused(_, let end?) = contact { return end }
        return memory.restOfPause(by: server, at: now).map(now.advanced(by:))
    }

    /// The clock difference in words, which `print(to:)` shows.
    var clockText: String { clock?.words ?? "not compared with a server's yet" }

    func print(to terminal: Terminal) {
        let state: TerminalText
        switch contact {
        case .noServer: state = "no server is configured: this device works offline only"
        case .notAsked: state = "not contacted"
        case .online(_, let time, _): state = terminal.green("online") + ", answered in \(time.shortText)"
        case .offline(let reason): state = "\(terminal.red("offline")): \(reason)"
        case .paused(let reason, _): state = "\(terminal.red("paused")): \(reason)"
        case .refused(let reason): state = "\(terminal.red("refused")): \(reason)"
        }
        var rows: [(String, TerminalText)] = [("server", "\(server ?? "none")"), ("state", state)]
        rows.append(("engine", engine.map { "runs in process \($0)" } ?? "not running"))
        for space in session.spaces {
            rows.append(("space", "\(space.words(isHeld: memory.lastSync != nil))"))
        }
        rows.append(("last sync", "\(memory.lastSync.map(TimeText.text) ?? "never")"))
        if let failure = memory.lastFailure {
            let since = terminal.red("since \(TimeText.text(failure.at))")
            rows.append(("last error", "\(since): \(failure.statusMessage)"))
        }
        if let until = pausedUntil {
            rows.append(("paused", "\(StatusText.pause(until: until))"))
        }
        rows.append(("outbox", "\(outboxText)"))
        let journal: TerminalText =
            switch outbox.activeJournalEntries {
            case 0: "no entry needs attention"
            case 1: "1 entry needs attention (syncctl journal)"
            default: "\(outbox.activeJournalEntries) entries need attention (syncctl journal)"
            }
        rows.append(("journal", session.waitsForRoomInJournal ? "\(journal); \(StatusText.noticesWait)" : journal))
        let time: TerminalText = "\(clockText)"
        rows.append(("clock", clock?.isWithinSkew ?? true ? time : terminal.red(time)))
        rows.append(("account", "\(session.account?.rawValue ?? "none before the first contact")"))
        rows.append(("device", "\(session.identity)"))
        rows.append(("database", "\(file)"))
        rows.append(("environment", "\(environment.rawValue)"))
        for (name, value) in rows {
            terminal.say("\(terminal.bold("\(name)"))\(String(repeating: " ", count: 13 - name.count))\(value)")
        }
    }

    private var outboxText: String {
        guard outbox.count > 0 else { return "empty" }
        let parts = [(outbox.waiting, "waiting"), (outbox.sent, "sent"), (outbox.answered, "answered")]
            .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let held = outbox.held > 0 ? "; \(outbox.held) of them until the server is upgraded (syncctl outbox)" : ""
        return parts.joined(separator: ", ") + " (\(outbox.bytes) bytes)" + held
    }

    var line: JSONLine {
        var line = JSONLine()
        line.set("server", server)
        line.set("state", contact.word)
        switch contact {
        case .offline(let reason), .paused(let reason, _), .refused(let reason): line.set("reason", reason)
        case .online(let epoch, _, _): line.set("server_epoch", epoch.rawValue)
        case .noServer, .notAsked: break
        }
        line.set("engine_process", engine)
        line.set("epoch", session.epoch?.rawValue)
        line.set("account", session.account?.rawValue)
        line.set("client", session.identity.client.description)
        line.set("incarnation", session.identity.incarnation)
        line.set("last_sync", memory.lastSync.map(TimeText.text))
        line.set("last_error", memory.lastFailure?.message)
        line.set("last_error_code", memory.lastFailure?.code)
        line.set("last_error_at", memory.lastFailure.map { TimeText.text($0.at) })
        line.set("paused_until", pausedUntil.map(TimeText.text))
        if let clock { line.set("clock_offset_seconds", -clock.lead / 1_000) }
        line.set("waiting", outbox.waiting)
        line.set("held", outbox.held)
        line.set("sent", outbox.sent)
        line.set("answered", outbox.answered)
        line.set("journal", outbox.activeJournalEntries)
        line.set("notices_wait", session.waitsForRoomInJournal)
        line.set("spaces", session.spaces.map(\.line))
        line.set("database", file)
        line.set("environment", environment.rawValue)
        return line
    }
}

extension StoredSpace {
    /// Returns the device's sync position in the space, for people.
    ///
    /// - Parameter isHeld: whether the device has been in sync before. If so, it already has a copy while it downloads
    ///   another.
    fileprivate func words(isHeld: Bool) -> String {
        guard hasAccess else { return "\(space): no access; the server's records of it were removed" }
        guard !isComplete else { return "\(space) at version \(version)" }
        return "\(space) at version \(version), \(isHeld ? "fresh" : "first") copy not complete"
    }

    /// The device's sync position in the space, for scripts.
    var line: JSONLine {
        var line = JSONLine()
        line.set("space", space.rawValue)
        line.set("version", version.rawValue)
        line.set("complete", isComplete)
        line.set("access", hasAccess)
        return line
    }
}
