import Glibc
import SyncCore
import SyncModel
import SyncStoreSQLite
import Testing

/// The tables of a fixed catalog, and their migration when the application's schema changes.
@Suite struct SchemaTests {
    static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "users",
            fields: [
                .text("username", required: true), .integer("age"), .boolean("active"), .real("weight"),
                .reference("avatar", to: "avatars"),
            ]),
        ModelSchema(
            collection: "avatars", fields: [.reference("author", to: "users", required: true), .json("kind")]),
    ])

    /// To update the golden file after an intended change, set TOMBOLO_WRITE_GOLDEN=1.
    @Test func `the schema of a new database matches the golden file`() throws {
        let scratch = try Scratch()
        try scratch.open(Self.catalog).close()
        let statements = try RawDatabase(scratch.file).run(
            "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name")
        let found = statements.joined(separator: "\n\n") + "\n"
        let golden = String(#filePath.dropLast("SchemaTests.swift".count)) + "local-schema.golden.sql"
        if getenv("TOMBOLO_WRITE_GOLDEN") != nil {
            let file = try #require(fopen(golden, "w"))
            fputs(found, file)
            fclose(file)
        }
        #expect(text(of: golden) == found, "the schema has drifted from \(golden)")
    }

    private func text(of path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    @Test func `fields may have the names of the store's own columns`() throws {
        let fresh = try Scratch()
        try fresh.open().close()
        let columns = try RawDatabase(fresh.file).run(
            """
            SELECT DISTINCT c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
            WHERE t.name LIKE 'sync!_%' ESCAPE '!'
            """)
        let names = columns.compactMap(FieldName.init(rawValue:)).filter {
            !ModelSchema.reservedNames.contains($0.rawValue) && !$0.rawValue.hasPrefix("sync_")
        }
        #expect(names.count > 50)
        // A model has at most 64 fields.
        var models: [ModelSchema] = []
        for part in [names.prefix(60), names.dropFirst(60)] {
            for type in ["texts", "links"] {
                let collection = CollectionName(rawValue: "\(type)\(part.count)") ?? "none"
                let field: (FieldName) -> FieldSchema = { type == "texts" ? .text($0) : .reference($0, to: collection) }
                models.append(ModelSchema(collection: collection, fields: part.map(field)))
            }
        }
        let scratch = try Scratch()
        let store = try scratch.open(SchemaCatalog(models))
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        func values(_ number: UInt64) -> [(ModelSchema, Patch)] {
            models.map { model in
                var patch = Patch()
                for field in model.fields {
                    patch.set(
                        field.name, to: field.target == nil ? .text("\(number)") : .reference(Samples.id(number)))
                }
                return (model, patch)
            }
        }
        func snapshot(of numbers: ClosedRange<UInt64>, at version: Int64) -> PullPage {
            let rows = models.indices.map { model in
                SnapshotRows(
                    collection: models[model].collection,
                    records: numbers.map { number in
                        Record(
                            id: Samples.id(number), uid: UID(Int64(number)), version: Version(version),
                            creating: values(number)[model].1, schema: models[model])
                    })
            }
            return PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .snapshot(
                    rows.sorted { $0.collection.rawValue < $1.collection.rawValue }, isFirst: true, isLast: true),
                cursor: Cursor(rawValue: "c\(version)"), version: Version(version), head: Version(version),
                hasMore: false)
        }
        _ = try store.apply(snapshot(of: 1...4, at: 1), after: nil, brake: nil, now: Samples.now)
        for (model, patch) in values(2) {
            _ = try store.commit([.update(model.collection, Samples.id(1), patch)], in: .default, now: Samples.now)
        }
        try store.resetCursor(of: .default)
        _ = try store.apply(snapshot(of: 1...2, at: 2), after: nil, brake: nil, now: Samples.now)
        try store.verify()
        for (model, patch) in values(2) {
            let record = try #require(try store.record(model.collection, .id(Samples.id(1))))
            #expect(record.values == model.fields.map { patch[$0.name] })
            let query = RecordQuery(
                model.collection,
                where: model.fields.prefix(20).map { RecordFilter($0.name, equals: patch[$0.name] ?? .null) })
            #expect(try store.records(matching: query).count == 2)
        }
        _ = try store.vacate(.default, of: epoch, brake: nil, now: Samples.now)
        try store.verify()
    }

    @Test func `the tables are readable in the SQLite shell`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog)
        let user = Samples.id(1)
        let avatar = Samples.id(2)
        _ = try store.commit(
            [
                .create("users", user, ["username": .text("ada"), "age": .integer(36), "avatar": .reference(avatar)]),
                .create("avatars", avatar, ["author": .reference(user)]),
            ], in: .default, now: Samples.now)
        let raw = try RawDatabase(scratch.file)
        _ = try store.commit(
            [.create("users", Samples.id(3), ["username": .text("eve")])], in: .default, now: Samples.now)
        #expect(try raw.run("SELECT avatar FROM users_shown WHERE username = 'eve'") == ["NULL"])
        #expect(
            try raw.run("SELECT * FROM users_shown WHERE username = 'ada'") == [
                "\(user)|-1|0|1|ada|36|NULL|NULL|\(avatar)"
            ])
        let payload = try raw.run("SELECT payload FROM sync_outbox").joined()
        #expect(payload.contains("\"ada\"") && payload.contains(user.description))
    }

    @Test func `the tables refuse values of the wrong type from any writer`() throws {
        let scratch = try Scratch()
        try scratch.open().close()
        let raw = try RawDatabase(scratch.file)
        // The other statements differ from this one only in the wrong value.
        try raw.run("INSERT INTO users (id, uid, version, sync_space, age) VALUES (randomblob(16), 1, 1, 1, 36)")
        #expect(throws: StoreError.self) {
            try raw.run(
                "INSERT INTO users (id, uid, version, sync_space, age) VALUES (randomblob(16), 2, 1, 1, 'old')")
        }
        #expect(throws: StoreError.self) {
            try raw.run("INSERT INTO users (id, uid, version, sync_space, age) VALUES (randomblob(15), 3, 1, 1, 36)")
        }
    }

    // MARK: Schema changes

    private func catalog(_ fields: FieldSchema...) -> SchemaCatalog {
        SchemaCatalog([ModelSchema(collection: "users", fields: fields)])
    }

    @Test func `a new field gets a column with the values that were received before it was known`() throws {
        let scratch = try Scratch()
        let epoch = Epoch(rawValue: "e")
        do {
            let store = try scratch.open(catalog(.text("username")))
            _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
            let change = RecordChange(
                collection: "users", id: Samples.id(1),
                effect: .created(
                    uid: UID(1), ["username": .text("ada"), "motto": .text("hello"), "later": .integer(5)]))
            let page = PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .commits([Commit(version: Version(1), changes: [change])]), cursor: Cursor(rawValue: "c"),
                version: Version(1), head: Version(1), hasMore: false)
            try store.follow(.default)
            _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
            _ = try store.commit(
                [.update("users", Samples.id(1), ["username": .text("eve")])], in: .default, now: Samples.now)
            store.close()
        }
        let grown = SchemaCatalog([
            ModelSchema(collection: "users", fields: [.text("username"), .text("motto"), .integer("age")]),
            ModelSchema(collection: "notes", fields: [.text("body")]),
        ])
        let store = try scratch.open(grown)
        let record = try #require(try store.record("users", .id(Samples.id(1))))
        #expect(record.values == [.text("eve"), .text("hello"), .null])
        #expect(record.unknown == ["later": .integer(5)])
        _ = try store.takeBatch(BatchLimit(transactions: 1, bytes: 1_000), now: Samples.now)
        let no = Rejection(code: .forbidden, message: "no", mutation: nil)
        _ = try store.record(
            [TransactionResult(number: .first, outcome: .rejected(no))], of: try store.session().identity,
            now: Samples.now)
        #expect(try store.record("users", .id(Samples.id(1)))?.values == [.text("ada"), .text("hello"), .null])
        #expect(try store.count(matching: RecordQuery("notes")) == 0)
        #expect(try RawDatabase(scratch.file).run("SELECT motto FROM users_shown") == ["hello"])
        store.close()

        // An older build refuses to open a database that a newer build has migrated.
        do throws(StoreError) {
            _ = try scratch.open(catalog(.text("username")))
            Issue.record("an older build opened the database")
        } catch {
            #expect(error.code == .newerSchema)
        }
    }

    /// Returns a page of planets, a collection that only a newer build knows.
    private func planets(
        _ content: PullPage.Content, version: Int64, cursor: String = "c"
    ) -> PullPage {
        PullPage(
            space: .default, epoch: Epoch(rawValue: "e"), serverTime: .zero, content: content,
            cursor: Cursor(rawValue: cursor), version: Version(version), head: Version(version), hasMore: false)
    }

    private func planet(_ number: UInt64, _ name: String, version: Int64) -> Record {
        Record(
            id: Samples.id(number), uid: UID(Int64(number)), version: Version(version), values: [],
            unknown: ["name": .text(name), "moons": .integer(2), "rings": .boolean(true), "mass": .text("heavy")])
    }

    private func snapshot(_ records: Record...) -> PullPage.Content {
        .snapshot([SnapshotRows(collection: "planets", records: records)], isFirst: true, isLast: true)
    }

    @Test func `a collection that only a newer build knows is stored completely for that build`() throws {
        let scratch = try Scratch()
        do {
            let store = try scratch.open(catalog(.text("username")))
            _ = try store.adopt(Epoch(rawValue: "e"), as: AccountID(rawValue: "ada"))
            let rows = snapshot(
                planet(1, "mars", version: 1), planet(2, "pluto", version: 1), planet(3, "x", version: 1))
            try store.follow(.default)
            _ = try store.apply(planets(rows, version: 2, cursor: "a"), after: nil, brake: nil, now: Samples.now)
            let renamed = RecordChange(
                collection: "planets", id: Samples.id(1), effect: .updated(["name": .text("Mars"), "moons": .null]))
            let gone = RecordChange(collection: "planets", id: Samples.id(2), effect: .deleted)
            let feed = PullPage.Content.commits([Commit(version: Version(3), changes: [renamed, gone])])
            _ = try store.apply(
                planets(feed, version: 3, cursor: "b"), after: Cursor(rawValue: "a"), brake: nil, now: Samples.now)
            // A record that is missing from a later snapshot is deleted.
            try store.resetCursor(of: .default)
            let fewer = snapshot(planet(1, "Mars", version: 3))
            _ = try store.apply(planets(fewer, version: 3, cursor: "c"), after: nil, brake: nil, now: Samples.now)
            #expect(try store.session().spaces.first?.isComplete == true)
            store.close()
        }
        let newer = SchemaCatalog([
            ModelSchema(collection: "users", fields: [.text("username")]),
            ModelSchema(collection: "planets", fields: [.text("name"), .integer("moons"), .text("mass")]),
        ])
        let store = try scratch.open(newer)
        let found = try store.records(matching: RecordQuery("planets"))
        #expect(
            found == [
                Record(
                    id: Samples.id(1), uid: UID(1), version: Version(3),
                    values: [.text("Mars"), .integer(2), .text("heavy")],
                    unknown: ["rings": .boolean(true)])
            ])
        #expect(try store.space(of: "planets", Samples.id(1)) == .default)
        #expect(try store.record("planets", .uid(UID(1))) == found.first)
        _ = try store.commit(
            [.update("planets", Samples.id(1), ["moons": .integer(3)])], in: .default, now: Samples.now)
        store.close()
        #expect(try RawDatabase(scratch.file).run("SELECT count(*) FROM sync_foreign") == ["0"])
    }

    @Test func `vacating a space deletes records that only a newer build knows`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(catalog(.text("username")))
        _ = try store.adopt(Epoch(rawValue: "e"), as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        _ = try store.apply(
            planets(snapshot(planet(1, "mars", version: 1)), version: 2), after: nil, brake: nil, now: Samples.now)
        _ = try store.vacate(.default, of: Epoch(rawValue: "e"), brake: nil, now: Samples.now)
        #expect(try RawDatabase(scratch.file).run("SELECT count(*) FROM sync_foreign") == ["0"])
        store.close()
    }

    @Test func `fields may change their order, and new ones may come between them`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(catalog(.text("username"), .integer("age")))
        let id = RecordID(bits: Identifier128(high: 7, low: 1))
        _ = try store.commit(
            [.create("users", id, ["username": .text("ada"), "age": .integer(36)])], in: .default, now: Samples.now)
        store.close()
        // The second opening has nothing to migrate.
        for _ in 0..<2 {
            let later = try scratch.open(catalog(.integer("age"), .text("color"), .text("username")))
            let record = try later.record("users", .id(id))
            #expect(record?.values == [.integer(36), .null, .text("ada")])
            later.close()
        }
        let columns = try RawDatabase(scratch.file).run("SELECT field FROM sync_field ORDER BY position")
        #expect(columns == ["username", "age", "color"])
    }

    @Test func `a schema in which a field changes its type or name is refused`() throws {
        let scratch = try Scratch()
        try scratch.open(catalog(.text("username"), .integer("age"))).close()
        let others = [
            catalog(.text("username"), .boolean("age")), catalog(.text("name"), .integer("age")),
        ]
        for other in others {
            do throws(StoreError) {
                _ = try scratch.open(other)
                Issue.record("another schema was taken")
            } catch {
                #expect(error.code == .incompatibleModels)
                #expect(error.message.contains("users"))
            }
        }
        do throws(StoreError) {
            _ = try scratch.open(catalog(.text("username")))
            Issue.record("a schema with fewer fields was taken")
        } catch {
            #expect(error.code == .newerSchema)
            #expect(error.message.contains("age"))
            // The build cannot know whether it has removed the field, or a newer build has created it.
            #expect(error.message.contains("rename the Swift property and keep the stored name"))
            #expect(error.message.contains("a newer build has created the fields"))
        }
        do throws(StoreError) {
            _ = try scratch.open(SchemaCatalog([ModelSchema(collection: "people", fields: [.text("username")])]))
            Issue.record("a schema without the collection was taken")
        } catch {
            #expect(error.code == .newerSchema)
            #expect(error.message.contains("a collection users") && error.message.contains("declare it again"))
            #expect(error.message.contains("a newer build has created the collection"))
        }
    }

    @Test func `a field of a stored collection that becomes required is refused by name, and nothing is lost`() throws {
        let scratch = try Scratch()
        let current = catalog(.text("username"), .integer("age"))
        let store = try scratch.open(current)
        let id = RecordID(bits: Identifier128(high: 7, low: 1))
        _ = try store.commit([.create("users", id, ["username": .text("ada")])], in: .default, now: Samples.now)
        store.close()
        func contents() throws -> [String] {
            try RawDatabase(scratch.file).run("SELECT sql FROM sqlite_schema UNION ALL SELECT models FROM sync_catalog")
        }
        let before = try contents()
        let refused: [(SchemaCatalog, String)] = [
            (
                catalog(.text("username"), .integer("age"), .text("city", required: true), .text("village")),
                "users.city is new and required, but stored records have no value for it; add it as an optional field"
            ),
            (
                catalog(.text("username"), .integer("age", required: true).defaulting(to: .integer(1))),
                "users.age is stored as optional, but is required in the catalog; do not require it"
            ),
        ]
        for (other, message) in refused {
            let error = #expect(throws: StoreError.self) { try scratch.open(other) }
            #expect(error?.code == .incompatibleModels)
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
            #expect(try contents() == before)
            let same = try scratch.open(current)
            #expect(try same.record("users", .id(id))?.values == [.text("ada"), .null])
            #expect(try same.outboxSummary().waiting == 1)
            same.close()
        }
        // A required field of a new collection, and a field that is no longer required, are no such change.
        let pets = ModelSchema(collection: "pets", fields: [.text("name", required: true)])
        try scratch.open(SchemaCatalog(current.models + [pets])).close()
        let optional = ModelSchema(collection: "pets", fields: [.text("name")])
        try scratch.open(SchemaCatalog(current.models + [optional])).close()
    }

    @Test(arguments: ["sync_users", "sqlite_users"])
    func `a collection name with a reserved prefix is refused`(name: String) throws {
        let scratch = try Scratch()
        let collection = try #require(CollectionName(rawValue: name))
        do throws(StoreError) {
            _ = try scratch.open(SchemaCatalog([ModelSchema(collection: collection, fields: [.text("a")])]))
            Issue.record("the name was taken")
        } catch {
            #expect(error.code == .otherSchema)
            #expect(error.message.contains(name))
        }
    }

    @Test func `SQL keywords are valid names of collections and fields`() throws {
        let scratch = try Scratch()
        let catalog = SchemaCatalog([
            ModelSchema(
                collection: "order", fields: [.text("select"), .integer("group"), .text("unknown"), .text("row")])
        ])
        let store = try scratch.open(catalog)
        _ = try store.commit(
            [.create("order", Samples.id(1), ["select": .text("'; DROP TABLE \"order\"; --"), "group": .integer(1)])],
            in: .default, now: Samples.now)
        let query = RecordQuery(
            "order", where: [.init("select", equals: .text("'; DROP TABLE \"order\"; --"))], order: .field("group"))
        #expect(try store.records(matching: query).count == 1)
    }
}
