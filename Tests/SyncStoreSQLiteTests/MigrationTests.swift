import Schemas
import SyncCore
import SyncModel
import SyncStoreSQLite
import Testing

/// Opens databases that earlier builds have written.
@Suite struct MigrationTests {
    @Test(arguments: 1..<LocalSchema.migrations.count)
    func `a database with an older schema opens and keeps its contents`(version: Int) throws {
        let scratch = try Scratch()
        let identity = try Self.leave(version, at: scratch)
        let store = try scratch.open()
        #expect(try store.setting("user_version") == "\(SQLiteStore.schemaVersion)")
        #expect(try store.session().identity.client == identity)
        // The number of a deleted entry is not reused.
        let sequence = try #require(try store.commit([Samples.create(1)], in: .default, now: Samples.now))
        try store.cancel(sequence, now: Samples.now)
        let journal = try store.journal(state: nil, limit: 9)
        #expect(journal.map(\.number) == [3, 1])
        #expect(journal.last?.sequence == OutboxSequence(rawValue: 7))
        #expect(journal.last?.event == .merged([]))
    }

    @Test func `a migrated database has the schema of a fresh one`() throws {
        let (old, fresh) = (try Scratch(), try Scratch())
        _ = try Self.leave(1, at: old)
        try old.open().close()
        try fresh.open().close()
        let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
        #expect(try RawDatabase(old.file).run(schema) == RawDatabase(fresh.file).run(schema))
    }

    @Test func `a base record from an older build is assigned to the space of its newest edit`() throws {
        let scratch = try Scratch()
        _ = try Self.leave(4, at: scratch)
        let id = "X'00000000000070008000000000000001'"
        try RawDatabase(scratch.file).run(
            """
            INSERT INTO sync_space (key, name) VALUES (1, 'default'), (2, 'family');
            INSERT INTO sync_outbox (sequence, space, payload, bytes, written_at)
                VALUES (1, 'default', '', 0, 0), (2, 'family', '', 0, 0);
            INSERT INTO sync_pending (collection, id, sequence, link)
                VALUES ('users', \(id), 1, 'changes'), ('users', \(id), 2, 'changes');
            INSERT INTO sync_base (collection, id, is_deleted, uid, version, fields) VALUES ('users', \(id), 0, 1, 1, '{}');
            """)
        try scratch.open().close()
        #expect(try RawDatabase(scratch.file).run("SELECT space FROM sync_base") == ["2"])
    }

    @Test
    func `journal entries of an older build get their spaces, and merged entries are deleted with any vacated space`()
        throws
    {
        let scratch = try Scratch()
        _ = try Self.leave(5, at: scratch)
        try RawDatabase(scratch.file).run(
            """
            INSERT INTO sync_journal (at, sequence, event, state, payload, code, message)
                VALUES (0, 8, 'rejected', 'active', '{"space":"family","mutations":[]}', 'forbidden', 'no');
            """)
        let store = try scratch.open()
        let raw = try RawDatabase(scratch.file)
        #expect(
            try raw.run("SELECT event, space FROM sync_journal ORDER BY number") == ["merged|NULL", "rejected|family"])
        let epoch = Epoch(rawValue: "epoch")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow("family")
        _ = try store.vacate("family", of: epoch, brake: nil)
        #expect(try raw.run("SELECT event FROM sync_journal") == ["rejected"])
    }

    /// Creates a database as a build with the given schema version would have left it. The newest entry of its journal
    /// has been deleted.
    private static func leave(_ version: Int, at scratch: Scratch) throws -> ClientID {
        let model = try Scratch()
        let identity: ClientID
        do {
            let store = try model.open()
            identity = try store.session().identity.client
            store.close()
        }
        let fresh = try RawDatabase(model.file)
        let old = try RawDatabase(scratch.file)
        try old.run("PRAGMA application_id = \(fresh.run("PRAGMA application_id")[0])")
        try old.run("CREATE TABLE sync_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT")
        for (index, migration) in LocalSchema.migrations.prefix(version).enumerated() {
            try old.run(migration.sql)
            try old.run("INSERT INTO sync_migration VALUES (\(index + 1), '\(migration.name)')")
        }
        try old.run("PRAGMA user_version = \(version)")
        try old.run("ATTACH '\(model.file)' AS model")
        let columns = try old.run("SELECT name FROM pragma_table_info('sync_meta')").joined(separator: ", ")
        try old.run("INSERT INTO sync_meta (\(columns)) SELECT \(columns) FROM model.sync_meta")
        try old.run("DETACH model")
        for sequence in [7, 8] {
            try old.run(
                "INSERT INTO sync_journal (at, sequence, event, state) VALUES (0, \(sequence), 'merged', 'dismissed')")
        }
        try old.run("DELETE FROM sync_journal WHERE number = 2")
        return identity
    }
}
