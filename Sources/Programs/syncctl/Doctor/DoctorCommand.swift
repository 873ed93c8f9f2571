import ArgumentParser
import Glibc
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram
import TomboloCommunity

/// Checks the device, and explains each result in a sentence.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check this device: database, disk, outbox, journal, spaces, token, server, clock.",
        discussion: """
            Prints the result of each check, and what to do if something is wrong. Exits with status 9 if a person must \
            act. With --fix, repairs what is safe to repair: the permissions of the folder, a WAL that was not checkpointed, \
            and a database that is damaged or that the server contradicts. The old database is kept beside a new one, which \
            receives everything readable: its identity, the outbox, the journal, and the records. The next sync compares the \
            records with the server's, and downloads the rest. Nothing is deleted, and the server receives only a hello.
            """)

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Repair problems that can be repaired safely.") var fix = false
    @Flag(help: "Do not contact the server.") var local = false
    @Option(
        help: ArgumentHelp(
            "With --fix: take the models of a damaged database from this file if its own cannot be read, as syncd catalog show prints it.",
            valueName: "file"), completion: .file())
    var catalog: String?

    func validate() throws {
        if catalog != nil, !fix { throw ValidationError("--catalog is only for --fix") }
    }

    func run() async throws {
        let terminal = options.terminal
        let models = try catalog.map { try CatalogFile.read($0, rule: FieldRule.named) }
        let findings = try await options.withClient(requestTimeout: GlobalOptions.quickTimeout) { client in
            let file = DatabaseCheck(client: client, fixes: fix, models: models)
            var findings = file.findings()
            findings += DeviceCheck(client: client, isOpen: file.isOpen).findings()
            findings += await ServerCheck(client: client, asks: !local).findings()
            return findings
        }
        for finding in findings {
            if terminal.isJSON {
                terminal.say(finding.line)
            } else {
                finding.print(to: terminal)
            }
        }
        if findings.contains(where: \.needsPerson) { throw CommandExitStatus.unhealthy }
    }
}

/// Checks whether the database can be opened and is undamaged.
private final class DatabaseCheck {
    private let client: ClientComposition
    private let fixes: Bool
    /// The models to use if those of a damaged database cannot be read; nil if none were given.
    private let models: SchemaCatalog?
    private(set) var isOpen = false

    init(client: ClientComposition, fixes: Bool, models: SchemaCatalog?) {
        self.client = client
        self.fixes = fixes
        self.models = models
    }

    func findings() -> [Finding] {
        var findings: [Finding] = []
        do throws(StoreError) {
            do throws(StoreError) {
                try open(&findings)
                try client.verifyStore()
                if fixes { try client.requireAgreement() }
            } catch  where fixes && [.corrupt, .notADatabase, .contradiction].contains(error.code) {
                guard try salvage(&findings, because: error) else { return findings }
                try client.verifyStore()
                isOpen = true
            }
            findings.append(.fine("database", "\(client.settings.store.file) is readable and undamaged"))
            let kept = SalvageReport.keptFiles(of: client.settings.store.file).filter { access($0, F_OK) == 0 }
            findings += kept.map {
                .fine("kept", "\($0) is from a repair, and may have writes that were lost: delete it if you need none")
            }
            let copy = SalvageReport.workingCopy(of: client.settings.store.file)
            if access(copy, F_OK) == 0 {
                findings.append(.fine("copy", "\(copy) is left from an interrupted repair: delete it"))
            }
            if fixes { try writeBack(&findings) }
        } catch {
            findings.append(.broken("database", CommandError(error)))
        }
        return findings
    }

    private func open(_ findings: inout [Finding]) throws(StoreError) {
        do throws(StoreError) {
            _ = try client.store
        } catch  where error.code == .unsafePermissions && fixes {
            let folder = client.settings.store.folder
            guard Self.closeToOthers(folder) else { throw error }
            findings.append(
                Finding(check: "folder", level: .fixed, sentence: "\(folder) is now writable only by its owner"))
            _ = try client.store
        }
        isOpen = true
    }

    /// Takes all permissions on a folder from other users, if they can write to it.
    ///
    /// - Returns: whether they have changed.
    private static func closeToOthers(_ folder: String) -> Bool {
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & 0o022 != 0 else { return false }
        return chmod(folder, 0o700) == 0
    }

    /// Replaces the damaged database.
    ///
    /// - Returns: false when another process syncs the database, which would continue with the damaged one, or when the
    ///   models for the new database are not known.
    private func salvage(_ findings: inout [Finding], because failure: StoreError) throws(StoreError) -> Bool {
        switch try client.acquireLease() {
        case .held(let process):
            findings.append(
                Finding(
                    check: "database", level: .broken, sentence: failure.message,
                    advice:
                        "end process \(process.map(String.init) ?? "that syncs it") first, then run the command again"))
            return false
        case .acquired(let lease):
            defer { withExtendedLifetime(lease) {} }
            let stored = try ClientRecipes.recoveredCatalog(
                of: client.settings, known: [CommunityCatalog.catalog], rule: FieldRule.named)
            guard let models = stored ?? models else {
                findings.append(
                    Finding(
                        check: "database", level: .broken,
                        sentence: "\(failure.message); the models of the application cannot be read from it either",
                        advice:
                            "get the file of its models, as syncd catalog show prints it on the server, then run syncctl doctor --fix --catalog FILE"
                    ))
                return false
            }
            let salvaged: SalvageReport
            do throws(StoreError) {
                salvaged = try client.salvageStore(for: models)
            } catch  where stored == nil && error.code == .contradiction {
                findings.append(
                    Finding(
                        check: "database", level: .broken,
                        sentence: "its records do not fit the models of the file: \(error.message)",
                        advice:
                            "run the command again with the file of its models, as syncd catalog show prints it on the server"
                    ))
                return false
            }
            let sentence = "a new database took the place of this one: \(failure.message)"
            findings.append(Finding(check: "database", level: .fixed, sentence: sentence))
            findings += salvaged.findings
            if stored == nil {
                findings.append(
                    Finding(
                        check: "models", level: .fixed,
                        sentence:
                            "the models are those of the file; if it lacked collections or fields that the database had, or had them in another order, values are only in \(salvaged.keptFile): put that file back in place of the new database, and run the command with the right models"
                    ))
            }
            return true
        }
    }

    /// Checkpoints the WAL, unless another process holds the lease: only the holder may do so.
    private func writeBack(_ findings: inout [Finding]) throws(StoreError) {
        guard case .acquired(let lease) = try client.acquireLease() else { return }
        defer { withExtendedLifetime(lease) {} }
        try client.store.checkpoint()
        findings.append(Finding(check: "wal", level: .fixed, sentence: "the WAL is checkpointed"))
    }
}

/// The checks that need no server.
private struct DeviceCheck {
    let client: ClientComposition
    /// Whether the database can be opened. What it contains may still be damaged.
    let isOpen: Bool

    /// Returns at least one finding of each check, even if the database cannot be read.
    func findings() -> [Finding] {
        let folder = client.settings.store.folder
        var status = stat()
        let disk = stat(folder, &status) == 0 ? DiskCheck(folder: folder).finding() : unchecked("disk")
        guard isOpen else {
            return [disk] + ["account", "engine", "contact", "outbox", "journal", "space"].map(unchecked)
        }
        let session = Result { () throws(StoreError) in try client.store.session() }
        let memory = Result { () throws(StoreError) in try client.store.contact() }
        let found = [
            disk, finding("account", session, identity), engine(), finding("contact", memory, contact),
            finding("outbox", session) { outbox($0.outbox) }, finding("journal", session) { journal($0.outbox) },
        ]
        switch session {
        case .success(let session):
            let isHeld = (try? memory.get())?.lastSync != nil
            let isBraked = (try? memory.get())?.lastFailure?.code == ServerContact.Failure.braked
            return found + session.spaces.map { space($0, isHeld: isHeld, isBraked: isBraked) }
        case .failure(let failure): return found + [.broken("space", CommandError(failure))]
        }
    }

    private func unchecked(_ check: String) -> Finding {
        Finding(check: check, level: .attention, sentence: "not checked, because the database cannot be opened")
    }

    private func finding<Value>(
        _ check: String, _ value: Result<Value, StoreError>, _ body: (Value) -> Finding
    ) -> Finding {
        switch value {
        case .success(let value): body(value)
        case .failure(let failure): .broken(check, CommandError(failure))
        }
    }

    private func identity(_ session: StoredSession) -> Finding {
        guard let account = session.account, let epoch = session.epoch else {
            return .fine("account", "this device has never synced, and belongs to no account")
        }
        return .fine(
            "account",
            "this device is \(session.identity) of the account '\(account.rawValue)', in epoch \(epoch.rawValue)"
        )
    }

    private func engine() -> Finding {
        do throws(StoreError) {
            return switch try client.acquireLease() {
            case .acquired: .fine("engine", "no process is syncing this database")
            case .held(let process):
                .fine("engine", "process \(process.map(String.init) ?? "unknown") syncs this database")
            }
        } catch {
            return .broken("engine", CommandError(error))
        }
    }

    private func contact(_ contact: ServerContact) -> Finding {
        let since = contact.lastSync.map { "the last complete sync was at \(TimeText.text($0))" }
        guard let failure = contact.lastFailure else {
            return .fine("contact", since ?? "no sync has completed with this database yet")
        }
        var sentence = "sync has been failing since \(TimeText.text(failure.at)): \(failure.statusMessage)"
        let server = client.settings.server?.address.description
        let now = client.runtime.now()
        if let pause = contact.restOfPause(by: server, at: now) {
            sentence += "; \(StatusText.pause(until: now.advanced(by: pause)))"
        }
        if failure.code == ServerContact.Failure.historyInDoubt {
            return .attention(
                "contact", sentence,
                advice:
                    "if the operator cannot help, syncctl doctor --fix downloads a fresh snapshot and sends the confirmed transactions that it lacks again"
            )
        }
        if failure.code == ServerContact.Failure.contradiction {
            return .attention(
                "contact", sentence,
                advice: "syncctl sync downloads a fresh snapshot; if it fails again, run syncctl doctor --fix")
        }
        return .attention("contact", sentence, advice: since ?? "no sync has completed with this database yet")
    }

    private func outbox(_ outbox: OutboxSummary) -> Finding {
        guard outbox.count > 0 else { return .fine("outbox", "no write is waiting for the server") }
        let count = outbox.count == 1 ? "1 transaction is" : "\(outbox.count) transactions are"
        if outbox.held > 0 {
            return .attention(
                "outbox",
                "\(count) not confirmed yet, and the server does not know a collection or field in \(outbox.held) of them",
                advice: "they are kept, and sent once the server is upgraded; syncctl outbox lists them")
        }
        return .fine("outbox", "\(count) not confirmed yet (\(outbox.bytes) bytes): syncctl sync sends them")
    }

    private func journal(_ outbox: OutboxSummary) -> Finding {
        guard outbox.activeJournalEntries > 0 else { return .fine("journal", "no entry needs attention") }
        let count = outbox.activeJournalEntries == 1 ? "1 entry needs" : "\(outbox.activeJournalEntries) entries need"
        return .attention(
            "journal", "\(count) attention: changes that were rejected, merged, cancelled, or lost",
            advice: "read them with syncctl journal, then restore or dismiss each")
    }

    /// Returns the finding for a space.
    ///
    /// - Parameters:
    ///   - isHeld: whether this device has been in sync before, and so holds records regardless of its cursors.
    ///   - isBraked: whether the last sync stopped at the mass-delete brake.
    private func space(_ space: StoredSpace, isHeld: Bool, isBraked: Bool) -> Finding {
        let check = "space \(space.space)"
        guard space.hasAccess else {
            return .attention(
                check, "the account may not read it, or the server has no such space",
                advice: "check server.token-file (syncctl config show), or ask the server's operator")
        }
        guard space.cursor != nil || isHeld else {
            return .fine(check, "no records of it have been downloaded into this database yet")
        }
        guard space.isComplete else {
            return .attention(
                check,
                isHeld
                    ? "a new snapshot is incomplete; the earlier records stay until it is complete"
                    : "the first snapshot is incomplete; this device holds a part of it at version \(space.version)",
                advice: isBraked
                    ? "syncctl sync --allow-deletes completes it, if you expect the deletions"
                    : "syncctl sync completes it")
        }
        return .fine(check, "this device holds all its records as of version \(space.version)")
    }
}

/// Checks whether the server can be reached, accepts the token, and agrees on the time.
private struct ServerCheck {
    let client: ClientComposition
    let asks: Bool

    func findings() async -> [Finding] {
        guard let server = client.settings.server else {
            return [.fine("server", "no server is configured: this device works offline only")]
        }
        if let problem = server.tokenProblem { return [.broken("token", CommandError(problem))] }
        guard asks else { return [] }
        if case .down(let reason) = client.reachability.current {
            return [.attention("network", "this device is offline: \(reason)", advice: "connect it to a network")]
        }
        do {
            let hello = try await client.transport.hello()
            // `DatabaseCheck` reports a database that cannot be read.
            if let refusal = hello.refusal(for: (try? client.store.session())?.account) { throw refusal }
            return [.fine("server", "\(server.address) responds and accepts the token"), clock(hello)]
        } catch {
            return [.broken("server", CommandError(wrapping: error))]
        }
    }

    private func clock(_ hello: ServerHello) -> Finding {
        let comparison = ClockComparison(device: client.runtime.now(), server: hello.wallTime)
        guard !comparison.isWithinSkew else { return .fine("clock", comparison.words) }
        return .attention(
            "clock", comparison.words,
            advice: "set the clock: edits that were made offline are ordered by it")
    }
}
