import Foundation
import Glibc
import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncTestKit
import TestRings
import Testing

@testable import AuthorityStorePostgres

@Suite(.ring(.check), .needsPostgres, .postgres, .serialized) struct PostgresAuthorityStoreTests {
    @Test(arguments: AuthorityStoreConformance.ruleNames)
    func `a store in PostgreSQL keeps the rules of the port`(rule: String) throws {
        let database = try DatabaseServer.running
        try AuthorityStoreConformance { history in
            try PostgresAuthorityStore(
                PostgresConfiguration(connection: database.connection, schema: database.newSchema()),
                newHistory: history)
        }.run(rule)
    }

    private static let history = HistoryIdentity.fixed(Epoch(rawValue: "first"))

    private static func take(_ transaction: any AuthorityTransaction) throws(AuthorityStoreError) -> Version {
        try transaction.takeVersion(in: .default)
    }

    /// Returns the configuration of a new schema.
    private func configuration(_ change: (inout PostgresConfiguration) -> Void = { _ in }) throws
        -> PostgresConfiguration
    {
        let database = try DatabaseServer.running
        var configuration = PostgresConfiguration(connection: database.connection, schema: database.newSchema())
        change(&configuration)
        return configuration
    }

    private func open(_ configuration: PostgresConfiguration) throws -> PostgresAuthorityStore {
        try PostgresAuthorityStore(configuration, newHistory: Self.history)
    }

    @Test func `a reopened database keeps its data and its epoch`() throws {
        let configuration = try configuration()
        let store = try open(configuration)
        #expect(try store.write(Self.take) == Version(1))
        store.close()
        let again = try PostgresAuthorityStore(configuration, newHistory: .fixed(Epoch(rawValue: "second")))
        defer { again.close() }
        let (epoch, head) = try again.read { view in
            (try view.state().epoch, try view.extent(of: .default).head)
        }
        #expect(epoch == Epoch(rawValue: "first") && head == Version(1))
    }

    /// A pooler may drop the settings with which a connection is opened.
    @Test func `a session with other settings is refused, and the error names them`() throws {
        let configuration = try configuration()
        try open(configuration).close()
        let connection = try PostgresConnection(configuration)
        try connection.checkSettings(configuration)
        let changes: [(inout PostgresConfiguration) -> Void] = [
            { $0.schema = "other" }, { $0.durability = .normal }, { $0.lockTimeout = .milliseconds(1_234) },
        ]
        for change in changes {
            var other = configuration
            change(&other)
            var message = ""
            do throws(PostgresError) { try connection.checkSettings(other) } catch { message = error.message }
            #expect(message.contains("search_path, lock_timeout, statement_timeout"), "\(message)")
        }
    }

    @Test(arguments: ["user", "order", "left"])
    func `a schema may have the name of a reserved word`(name: String) throws {
        let configuration = try configuration { $0.schema = name }
        let store = try open(configuration)
        #expect(try store.write(Self.take) == Version(1))
        store.close()
        try PostgresConnection(configuration).run("DROP SCHEMA \"\(name)\" CASCADE")
    }

    @Test func `a closed store fails each call`() throws {
        let store = try open(try configuration())
        store.close()
        let write = #expect(throws: AuthorityStoreError.self) { try store.write(Self.take) }
        let read = #expect(throws: AuthorityStoreError.self) {
            try store.read { view in try view.state() }
        }
        // The code is not `unreachable`, which would make the operator check the connection.
        #expect(write?.code == .inputOutput && read?.code == .inputOutput)
    }

    // MARK: Several servers

    @Test func `the writes of two servers follow one another`() throws {
        let configuration = try configuration()
        let (first, second) = (try open(configuration), try open(configuration))
        defer {
            first.close()
            second.close()
        }
        for version in stride(from: Int64(1), through: 9, by: 2) {
            #expect(try first.write(Self.take) == Version(version))
            #expect(try second.write(Self.take) == Version(version + 1))
        }
    }

    @Test func `a write during that of another server is busy after the lock timeout`() throws {
        let configuration = try configuration { $0.lockTimeout = .milliseconds(50) }
        let (first, second) = (try open(configuration), try open(configuration))
        defer {
            first.close()
            second.close()
        }
        try first.write { transaction in
            _ = try Self.take(transaction)
            let failure = #expect(throws: AuthorityStoreError.self) { try second.write(Self.take) }
            #expect(failure?.code == .busy)
        }
        #expect(try second.write(Self.take) == Version(2))
    }

    @Test func `a read sees one snapshot beside the writes of another server`() throws {
        let configuration = try configuration()
        let (first, second) = (try open(configuration), try open(configuration))
        defer {
            first.close()
            second.close()
        }
        try first.read { view in
            let before = try view.extent(of: .default)
            #expect(try second.write(Self.take) == Version(1))
            #expect(try view.extent(of: .default) == before)
        }
        #expect(
            try first.read { view in try view.extent(of: .default).head } == Version(1))
    }

    @Test func `a server follows a change of members on another machine with its next call`() throws {
        let configuration = try configuration()
        let stores = (try open(configuration), try open(configuration))
        defer {
            stores.0.close()
            stores.1.close()
        }
        let (server, command) = (Self.authority(over: stores.0), Self.authority(over: stores.1))
        let ned = Principal(name: "ned")
        for _ in 0..<2 {
            #expect(try server.readable(among: ["team"], by: ned) == [])
            #expect(try command.admit(ned, to: "team", as: .reader) == .changed(from: nil, others: 0))
            #expect(try server.readable(among: ["team"], by: ned) == ["team"])
            #expect(try command.dismiss(ned, from: "team") == .changed(from: .reader, others: 0))
        }
        #expect(try server.readable(among: ["team"], by: ned) == [])
    }

    private static func authority(over store: PostgresAuthorityStore) -> Authority {
        Authority(
            store: store, catalog: SchemaCatalog([]), policy: AuthorityPolicy(access: .members),
            histories: CountedHistories())
    }

    @Test func `a database of another encoding is refused with the encoding`() throws {
        try run("CREATE DATABASE made_in_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        defer { try? run("DROP DATABASE made_in_latin WITH (FORCE)") }
        let failure = #expect(throws: AuthorityStoreError.self) {
            try open(try configuration { $0.connection += " dbname=made_in_latin" })
        }
        #expect(failure?.code == .unstorable && failure?.message.contains("has the encoding LATIN1") == true)
    }

    @Test func `a session that may not write is replaced, because a new one may`() throws {
        // A database of its own, because the setting applies to all sessions of a database.
        try run("CREATE DATABASE made_read_only")
        defer { try? run("DROP DATABASE made_read_only WITH (FORCE)") }
        let store = try open(try configuration { $0.connection += " dbname=made_read_only" })
        defer { store.close() }
        try run("ALTER DATABASE made_read_only SET default_transaction_read_only = on")
        try run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'made_read_only'")
        let failure = #expect(throws: AuthorityStoreError.self) { try store.write(Self.take) }
        #expect(failure?.code == .readOnly)
        try run("ALTER DATABASE made_read_only RESET default_transaction_read_only")
        #expect(try store.write(Self.take) == Version(1))
    }

    @Test func `a write that fails leaves nothing, and the next one takes the same version`() throws {
        let store = try open(try configuration())
        defer { store.close() }
        #expect(throws: AuthorityStoreError.self) {
            try store.write { transaction in
                _ = try Self.take(transaction)
                throw AuthorityStoreError(.corrupt, "planted")
            }
        }
        #expect(try store.write(Self.take) == Version(1))
    }

    @Test func `a statement that the database refuses fails the whole transaction, even if its error is ignored`()
        throws
    {
        let store = try open(try configuration())
        defer { store.close() }
        let record = StoredRecord(
            address: RecordAddress("user", RecordID(bits: Identifier128(high: 1, low: 1))), uid: UID(-1),
            space: .default,
            version: Version(1),
            creation: RecordCreation(
                origin: FieldOrigin(
                    version: Version(1),
                    stamp: Stamp(
                        time: HybridTime(rawValue: 1), client: ClientID(bits: Identifier128(high: 1, low: 2))),
                    incarnation: 0), claimedTime: HybridTime(rawValue: 1)), deletion: nil, fields: [])
        let failure = #expect(throws: AuthorityStoreError.self) {
            try store.write { transaction in
                _ = try Self.take(transaction)
                // A negative uid violates a constraint.
                try? transaction.put(record)
            }
        }
        #expect(failure?.message == "could not write: the transaction was rolled back")
        #expect(failure?.code == .inputOutput)
        #expect(try store.write(Self.take) == Version(1))
    }

    // MARK: Opening

    @Test func `an older build does not open a newer schema`() throws {
        let configuration = try configuration()
        try open(configuration).close()
        try run("INSERT INTO \(configuration.schema).migration VALUES (99, 'p0099_later')")
        let failure = #expect(throws: AuthorityStoreError.self) { try open(configuration) }
        #expect(failure?.code == .newerSchema)
    }

    @Test func `a schema of another program is refused and unchanged`() throws {
        let configuration = try configuration()
        try run("CREATE SCHEMA \(configuration.schema); CREATE TABLE \(configuration.schema).theirs (id BIGINT)")
        let failure = #expect(throws: AuthorityStoreError.self) { try open(configuration) }
        #expect(failure?.code == .otherSchema)
        #expect(try tableCount(configuration.schema) == 1)
    }

    private func tableCount(_ schema: String) throws -> Int64 {
        try operatorConnection().query(
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = '\(schema)'", []
        ) { cursor in try cursor.step() ? cursor.integer(0) : 0 }
    }

    @Test func `a schema of another program that has a table of migrations is refused and unchanged`() throws {
        let configuration = try configuration()
        let schema = configuration.schema
        try run("CREATE SCHEMA \(schema); CREATE TABLE \(schema).migration (version BIGINT, name TEXT)")
        let failure = #expect(throws: AuthorityStoreError.self) { try open(configuration) }
        #expect(failure?.code == .otherSchema)
        #expect(
            failure?.message
                == "the schema \(schema) belongs to another program; expected an empty one, or an authority's")
        #expect(try tableCount(schema) == 1)
    }

    @Test(arguments: [false, true])
    func `an empty schema is refused if the mark shows that a server has used it`(isMissing: Bool) throws {
        let mark = FileManager.default.temporaryDirectory.appending(path: "tombolo-mark-\(UUID())")
        try Data().write(to: mark)
        defer { try? FileManager.default.removeItem(at: mark) }
        var configuration = try configuration()
        configuration.mark = mark.path
        if !isMissing { try run("CREATE SCHEMA \(configuration.schema)") }
        let failure = #expect(throws: AuthorityStoreError.self) { try open(configuration) }
        #expect(failure?.code == .corrupt)
        #expect(failure?.message.contains("\(mark.path) shows that this server has had data") == true)
        configuration.mark = mark.path + "-other"
        try open(configuration).close()
        configuration.mark = mark.path
        try open(configuration).close()
    }

    @Test func `a missing schema is not created unasked`() throws {
        let configuration = try configuration()
        let failure = #expect(throws: AuthorityStoreError.self) {
            try PostgresAuthorityStore(configuration, newHistory: Self.history, creating: false)
        }
        #expect(failure?.code == .noDatabase)
        #expect(failure?.message == "there is no authority in the schema \(configuration.schema)")
    }

    @Test(arguments: [
        ("host=localhost password=secret", "the connection string contains a password"),
        ("host", "the connection string is invalid: missing \"=\" after \"…\""),
        ("postgresql://ned:can%ry@db/sync", "the connection string is invalid: invalid percent-encoded token: \"…\""),
        ("colour=red", "the connection string is invalid: invalid connection option \"…\""),
    ])
    func `an invalid connection string is refused with its reason`(connection: String, words: String) throws {
        let failure = #expect(throws: AuthorityStoreError.self) {
            try open(PostgresConfiguration(connection: connection))
        }
        #expect(failure?.message.hasPrefix(words) == true, "\(failure?.message ?? "")")
    }

    @Test(arguments: ["", "Main", "pg_main", "a;b", "a b", "1a", String(repeating: "a", count: 64)])
    func `an invalid name of a schema is refused`(schema: String) throws {
        let failure = #expect(throws: AuthorityStoreError.self) {
            try open(PostgresConfiguration(connection: "host=/nowhere", schema: schema))
        }
        #expect(failure?.message.contains("is not a valid name of a schema") == true)
    }

    // MARK: Lost connections

    @Test func `a connection that is lost while idle is replaced`() throws {
        let configuration = try configuration()
        let store = try open(configuration)
        defer { store.close() }
        _ = try store.write(Self.take)
        _ = try store.read { view in try view.state() }
        try endOtherConnections()
        #expect(try store.write(Self.take) == Version(2))
        #expect(
            try store.read { view in try view.extent(of: .default).head } == Version(2))
    }

    @Test func `a connection that is lost in a transaction fails it, and the next one works`() throws {
        let store = try open(try configuration())
        defer { store.close() }
        let failure = #expect(throws: AuthorityStoreError.self) {
            try store.write { transaction in
                _ = try Self.take(transaction)
                _ = try? endOtherConnections()
                _ = try Self.take(transaction)
            }
        }
        #expect(failure?.code == .unreachable)
        #expect(try store.write(Self.take) == Version(1))
    }

    @Test func `a database that crashes keeps every commit and serves again after its recovery`() throws {
        let database = try DatabaseServer.running
        let store = try open(try configuration())
        defer { store.close() }
        #expect(try store.write(Self.take) == Version(1))
        database.crash()
        let failure = #expect(throws: AuthorityStoreError.self) { try store.write(Self.take) }
        #expect(failure?.code == .unreachable)
        try database.start()
        #expect(try store.write(Self.take) == Version(2))
        // The caller does not notice a crash between two calls.
        database.crash()
        try database.start()
        #expect(try store.write(Self.take) == Version(3))
        #expect(
            try store.read { view in try view.extent(of: .default).head } == Version(3))
    }

    @Test func `a connection that does not respond fails its transaction, and an idle one is replaced`() throws {
        let configuration = try configuration { $0.silenceLimit = .seconds(3) }
        let store = try open(configuration)
        defer { store.close() }
        #expect(try store.write(Self.take) == Version(1))
        var stopped: [pid_t] = []
        let failure = #expect(throws: AuthorityStoreError.self) {
            try store.write { transaction in
                _ = try Self.take(transaction)
                stopped = try processesOfStores()
                for process in stopped { kill(process, SIGSTOP) }
                _ = try Self.take(transaction)
            }
        }
        #expect(failure?.code == .unreachable)
        #expect(failure?.message.hasSuffix("the database has not responded for 3000 ms") == true, "\(failure as Any)")
        // The process of the database that holds the writers' lock ends when it detects that its connection is closed.
        for process in stopped { kill(process, SIGCONT) }
        #expect(try store.write(Self.take) == Version(2))
        stopped = try processesOfStores()
        for process in stopped { kill(process, SIGSTOP) }
        #expect(try store.write(Self.take) == Version(3))
        for process in stopped { kill(process, SIGCONT) }
    }

    @Test func `full durability is refused where the database does not flush`() throws {
        let database = try DatabaseServer.running
        try run("ALTER SYSTEM SET fsync = off")
        defer {
            // The other tests use this database, too.
            do {
                try run("ALTER SYSTEM RESET fsync")
                database.crash()
                try database.start()
            } catch {
                Issue.record(error)
            }
        }
        database.crash()
        try database.start()
        let failure = #expect(throws: AuthorityStoreError.self) { try open(configuration()) }
        #expect(failure?.code == .notDurable)
        #expect(failure?.message == "fsync is off in the database; expected on, as full durability needs it")
        try open(configuration { $0.durability = .normal }).close()
    }

    // MARK: Other machines

    private static let reading = PostgresPool.Beginning.read("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    /// Returns a pool of one reader, and the number of the sessions that it has opened.
    private func readers(_ connection: String = "") throws -> (pool: PostgresPool, opened: Guarded<Int>) {
        let configuration = try configuration { $0.connection += connection }
        let opened = Guarded(0)
        let pool = PostgresPool(count: 1) {
            opened.withLock { $0 += 1 }
            return try PostgresConnection.toPrimary(configuration)
        }
        return (pool, opened)
    }

    /// After a switchover, the former primary may go on to answer reads.
    @Test func `a reader is replaced when its server takes no more writes, because another one may be ahead`() throws {
        let (pool, opened) = try readers()
        defer { pool.close() }
        for _ in 0..<2 { try pool.transaction(Self.reading) { _ in } }
        #expect(opened.withLock { $0 } == 1)
        try pool.transaction(Self.reading) { session in
            _ = try session.execute("switch over", "SET default_transaction_read_only = on", [])
        }
        for _ in 0..<2 { try pool.transaction(Self.reading) { _ in } }
        #expect(opened.withLock { $0 } == 2)
    }

    @Test(arguments: [("off", true), ("on", false)])
    func `a store tells whether its database takes writes`(setting: String, expected: Bool) throws {
        let configuration = try configuration()
        try open(configuration).close()
        let options = " options='-c default_transaction_read_only=\(setting)'"
        let store = try PostgresAuthorityStore(
            PostgresConfiguration(
                connection: configuration.connection + options, schema: configuration.schema),
            newHistory: Self.history)
        defer { store.close() }
        #expect(try store.takesWrites() == expected)
    }

    /// The address may lead to another server soon.
    @Test func `a reader whose server takes no writes from the start is for one transaction`() throws {
        let (pool, opened) = try readers(" options='-c default_transaction_read_only=on'")
        defer { pool.close() }
        for _ in 0..<3 { try pool.transaction(Self.reading) { _ in } }
        #expect(opened.withLock { $0 } == 3)
    }

    // MARK: Commits of other servers

    @Test(.timeLimit(.minutes(5)))
    func `heads that have gone back with the database are reported`() async throws {
        let configuration = try configuration()
        let store = try open(configuration)
        defer { store.close() }
        let (reports, continuation) = AsyncStream.makeStream(of: [SpaceID: Version].self)
        let isListening = Guarded(false)
        let listener = CommitListener(configuration) { heads in
            isListening.withLock { $0 = true }
            continuation.yield(heads)
        } note: { note in
            Issue.record("\(note)")
        }
        try listener.start()
        defer { listener.stop() }
        // The first read reports nothing, so the listener reports once a commit comes after it.
        while !isListening.withLock({ $0 }) { _ = try store.write(Self.take) }
        try run("UPDATE \(configuration.schema).space SET head = 1, horizon = 0")
        try run("NOTIFY tombolo_\(configuration.schema), 'default 1'")
        for await heads in reports where heads == [.default: Version(1)] { return }
    }

    /// libpq reads a notification of this connection together with the response to `NOTIFY`, before the listener polls.
    @Test func `a notification that arrives with a response is among the heads`() throws {
        let configuration = try configuration()
        let store = try open(configuration)
        defer { store.close() }
        _ = try store.write(Self.take)
        let connection = try PostgresConnection(configuration)
        try connection.run("LISTEN tombolo_\(configuration.schema)")
        try connection.run("NOTIFY tombolo_\(configuration.schema), 'garden 7'")
        let heads = try CommitListener.heads(connection)
        #expect(heads == [.default: Version(1), SpaceID("garden"): Version(7)])
    }

    // MARK: Statements of the operator

    private func run(_ sql: String) throws {
        try operatorConnection().run(sql)
    }

    private func operatorConnection() throws -> PostgresConnection {
        try PostgresConnection(PostgresConfiguration(connection: DatabaseServer.running.connection))
    }

    /// Returns the processes of the database that serve the connections of stores.
    private func processesOfStores() throws -> [pid_t] {
        try operatorConnection().query(
            """
            SELECT pid::BIGINT FROM pg_stat_activity
            WHERE application_name = 'tombolo' AND pid <> pg_backend_pid()
            """, []
        ) { cursor in
            var processes: [pid_t] = []
            while try cursor.step() { processes.append(pid_t(cursor.integer(0))) }
            return processes
        }
    }

    /// Ends every connection of a store, as an operator or a failover would.
    private func endOtherConnections() throws {
        try run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tombolo' AND pid <> pg_backend_pid()"
        )
    }
}
