/// The contents of the databases, read directly with SQL.
///
/// Rows are compared as text: id, uid, version, and the values of the fields.
enum Observation {
    /// The collections with the fields of each. Reference fields are listed separately.
    static let collections: [(name: String, values: [String], references: [String])] = [
        ("user", ["username"], ["avatar"]), ("avatar", ["image_url"], ["author"]),
        ("profile", ["full_name", "address"], ["user"]),
    ]

    struct Effect: Hashable {
        let version: Int64
        let record: String
        let client: String
        let number: Int64
    }

    struct Server {
        var head: Int64 = 0
        var rows: [String: String] = [:]
        /// The commits in which each text takes effect. A text must take effect only once.
        var effects: [String: [Effect]] = [:]
        /// Transactions that occur more than once in the feed.
        var repeated: [String] = []
        /// The version of the commit that deletes each record.
        var deletions: [String: Int64] = [:]
        /// Records that the feed changes after their deletion.
        var changedAfterDeletion: [String] = []
        var living: Set<String> = []
        /// The ids of all records with each text, including deleted records.
        var holders: [String: [String]] = [:]
        /// The losing values in the conflicts table.
        var losers: Set<String> = []
        var users: [(id: String, name: String)] = []
    }

    struct Replica {
        var version: Int64 = 0
        var isComplete = false
        var rows: [String: String] = [:]
        var users: [(id: String, name: String)] = []
        var ids: Set<String> = []
        /// The number of entries in the outbox.
        var unconfirmed: Int64 = 0
        var requiredTexts: Set<String> = []
        var requiredDeletions: Set<String> = []
        /// The texts and deletions in the journal, with the reason of each entry.
        var journalTexts: [String: String] = [:]
        var journalDeletions: [String: String] = [:]
        var problems: [String] = []
    }

    // MARK: The server

    static func server(_ path: String) throws -> Server {
        try Database(path).snapshot { database in
            var server = Server()
            for row in try database.rows("SELECT head, horizon FROM space WHERE name = 'default'") {
                server.head = row.integer(0) ?? 0
                try require(row.integer(1) == 0, "the feed of \(path) was cut; the checker needs it whole")
            }
            for collection in collections {
                let values = collection.values.map { "json_extract(fields, '$.\($0)')" }
                let references = collection.references.map { "json_extract(fields, '$.\($0).$ref')" }
                let columns = (values + references).joined(separator: ", ")
                for row in try database.rows(
                    "SELECT \(uuid("id")), uid, version, \(columns), deletion IS NULL FROM record WHERE collection = '\(collection.name)'"
                ) {
                    let id = row.text(0) ?? ""
                    let name = row.text(3)
                    if let name { server.holders[name, default: []].append(id) }
                    guard row.integer(row.values.count - 1) == 1 else { continue }
                    server.living.insert(id)
                    server.rows["\(collection.name) \(id)"] = text(of: row.values.dropFirst().dropLast())
                    if collection.name == "user" { server.users.append((id, name ?? "")) }
                }
            }
            for row in try database.rows(
                """
                SELECT l.version, hex(l.client), l.number, json_extract(c.value, '$.id'),
                    coalesce(json_extract(c.value, '$.created.username'), json_extract(c.value, '$.updated.username'),
                        json_extract(c.value, '$.created.image_url'), json_extract(c.value, '$.updated.image_url')),
                    json_extract(c.value, '$.deleted')
                FROM change_feed AS l, json_each(l.changes) AS c ORDER BY l.version
                """)
            {
                let (version, id) = (row.integer(0) ?? 0, row.text(3) ?? "")
                if server.deletions[id] != nil { server.changedAfterDeletion.append(id) }
                if row.integer(5) == 1 { server.deletions[id] = version }
                if let text = row.text(4) {
                    server.effects[text, default: []].append(
                        Effect(version: version, record: id, client: row.text(1) ?? "", number: row.integer(2) ?? -1))
                }
            }
            server.repeated = try database.rows(
                """
                SELECT hex(client) || ' ' || incarnation || ' ' || number FROM change_feed
                GROUP BY principal, client, incarnation, number HAVING count(*) > 1
                """
            ).compactMap { $0.text(0) }
            server.losers = Set(
                try database.rows("SELECT json_extract(field_values, '$.loser') FROM conflict").compactMap {
                    $0.text(0)
                })
            return server
        }
    }

    // MARK: A device

    static func replica(_ path: String) throws -> Replica {
        try Database(path).snapshot { database in
            var replica = Replica()
            (replica.version, replica.isComplete) = try place(database)
            for collection in collections {
                let columns = (collection.values.map { "\"\($0)\"" } + collection.references.map { uuid("\"\($0)\"") })
                    .joined(separator: ", ")
                for row in try database.rows(
                    "SELECT \(uuid("id")), uid, version, \(columns) FROM \"\(collection.name)\"")
                {
                    let id = row.text(0) ?? ""
                    replica.ids.insert(id)
                    replica.rows["\(collection.name) \(id)"] = text(of: row.values.dropFirst())
                    if collection.name == "user" { replica.users.append((id, row.text(3) ?? "")) }
                }
            }
            replica.unconfirmed = try database.rows("SELECT count(*) FROM sync_outbox").first?.integer(0) ?? 0
            replica.requiredTexts = Set(
                try database.rows(
                    "SELECT t.atom FROM sync_outbox AS o, json_tree(o.payload) AS t WHERE t.type = 'text' AND t.key <> 'before'"
                ).compactMap { $0.text(0) })
            replica.requiredDeletions = Set(
                try database.rows(
                    """
                    SELECT json_extract(m.value, '$.record') FROM sync_outbox AS o, json_each(o.payload, '$.mutations') AS m
                    WHERE json_type(m.value, '$.delete') IS NOT NULL
                    """
                ).compactMap { $0.text(0) })
            for row in try database.rows(
                """
                SELECT t.atom, j.event || ' ' || coalesce(j.code, '') FROM sync_journal AS j, json_tree(j.payload) AS t
                WHERE t.type = 'text' AND t.key <> 'before'
                UNION ALL
                SELECT t.atom, 'merged ' || c.rule FROM sync_conflict AS c, json_each(c.loser) AS t WHERE t.type = 'text'
                """)
            {
                if let text = row.text(0) { replica.journalTexts[text] = row.text(1) }
            }
            for row in try database.rows(
                """
                SELECT json_extract(m.value, '$.record'), j.event || ' ' || coalesce(j.code, '')
                FROM sync_journal AS j, json_each(j.payload, '$.mutations') AS m
                WHERE json_type(m.value, '$.delete') IS NOT NULL
                """)
            {
                if let id = row.text(0) { replica.journalDeletions[id] = row.text(1) }
            }
            replica.problems = try database.rows("PRAGMA integrity_check(3)").compactMap { $0.text(0) }.filter {
                $0 != "ok"
            }
            return replica
        }
    }

    /// Takes a sample of a replica. It reads little, because it runs often.
    static func sample(_ name: String, device path: String) throws -> Sample {
        try Database(path).snapshot { database in
            let (version, isComplete) = try place(database)
            let users = try database.rows("SELECT \(uuid("id")), username FROM user")
            return Sample(
                name: name, version: version, isComplete: isComplete,
                users: users.map { ($0.text(0) ?? "", $0.text(1) ?? "") })
        }
    }

    static func sample(server path: String) throws -> Sample {
        try Database(path).snapshot { database in
            let users = try database.rows(
                "SELECT \(uuid("id")), json_extract(fields, '$.username') FROM record WHERE collection = 'user' AND deletion IS NULL"
            )
            return Sample(name: "the server", version: nil, users: users.map { ($0.text(0) ?? "", $0.text(1) ?? "") })
        }
    }

    /// Returns the version that a device has reached, and whether it has finished its first snapshot.
    private static func place(_ database: Database) throws -> (Int64, Bool) {
        let row = try database.rows("SELECT version, phase = 'complete' FROM sync_space WHERE name = 'default'").first
        return (row?.integer(0) ?? 0, row?.integer(1) == 1)
    }

    private static func uuid(_ column: String) -> String {
        let parts = [(1, 4), (5, 2), (7, 2), (9, 2), (11, 6)].map { "hex(substr(\(column), \($0), \($1)))" }
        return "iif(\(column) IS NULL, NULL, lower(\(parts.joined(separator: " || '-' || "))))"
    }

    private static func text(of values: some Sequence<Database.Value>) -> String {
        values.map { value in
            switch value {
            case .null: "-"
            case .integer(let number): String(number)
            case .text(let text): "'\(text)'"
            }
        }.joined(separator: " ")
    }
}
