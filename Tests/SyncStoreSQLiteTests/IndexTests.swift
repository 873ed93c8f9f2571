import SyncCore
import SyncModel
import SyncStoreSQLite
import Testing

/// Indexes that a model declares: the store creates them, queries use them, and the store drops them when the model no
/// longer declares them.
@Suite struct IndexTests {
    private static func catalog(indexed: Bool) -> SchemaCatalog {
        let due = FieldSchema.integer("due")
        let title = FieldSchema.text("title")
        return SchemaCatalog([
            ModelSchema(
                collection: "todo",
                fields: [indexed ? title.indexed() : title, indexed ? due.indexed() : due, .integer("stars")])
        ])
    }

    private static func query(
        _ filter: RecordFilter, order: RecordOrder = .id, after: RecordCursor? = nil
    ) -> RecordQuery {
        var query = RecordQuery("todo", where: [filter], order: order, limit: 50)
        query.cursor = after
        return query
    }

    private static let early = RecordFilter.compare(.field("due"), .less, .integer(100))

    @Test(arguments: [
        query(early, order: .field("due")),
        query(RecordFilter("due", equals: .integer(7))),
        query(RecordFilter("due", equals: .null)),
        query(.isIn("due", [.integer(1), .integer(2)])),
        query(.hasPrefix("title", "Mil"), order: .field("title")),
        query(early && !(.contains("title", "x")), order: .field("due")),
        query(
            .everything, order: .field("due"),
            after: RecordCursor(values: [.integer(5), .reference(Samples.id(1))])),
    ])
    func `a query on an indexed field searches the index`(query: RecordQuery) throws {
        let scratch = try Scratch()
        let plan = try scratch.open(Self.catalog(indexed: true)).plan(of: query)
        #expect(plan.contains { $0.contains("SEARCH todo USING INDEX sync_index_todo.") }, "\(plan)")
    }

    @Test func `an index gives the order of a query, and needs no sorting`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog(indexed: true))
        let indexed = try store.plan(of: Self.query(Self.early, order: .field("due")))
        #expect(!indexed.contains { $0.contains("TEMP B-TREE") }, "\(indexed)")
        let other = try store.plan(of: Self.query(RecordFilter("stars", equals: .integer(5)), order: .field("stars")))
        #expect(other.contains { $0.hasPrefix("SCAN todo") }, "\(other)")
    }

    /// An index has missing values at its start, so it gives the order only while no record lacks the value.
    @Test func `an index gives an order in which a missing value counts as another, until one is missing`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog(indexed: true))
        let query = Self.query(.everything, order: RecordOrder(.field("due"), missing: .integer(5)))
        func add(_ number: UInt64, _ patch: Patch) throws {
            _ = try store.commit([.create("todo", Samples.id(number), patch)], in: .default, now: Samples.now)
        }
        for number in 1...3 { try add(UInt64(number), ["due": .integer(Int64(number) * 3)]) }
        #expect(try !store.plan(of: query).contains { $0.contains("TEMP B-TREE") })
        try add(4, [:])
        #expect(try store.plan(of: query).contains { $0.contains("TEMP B-TREE") })
        #expect(try store.records(matching: query).map(\.id) == [1, 4, 2, 3].map(Samples.id))
    }

    /// Regression test: the alternative for records of older builds made SQLite read and sort all matches for one page.
    @Test func `a condition that the default meets searches the index in its order, until a value is missing`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog(indexed: true))
        let isDue = RecordFilter("due", equals: .integer(5)) || RecordFilter("due", equals: .null)
        let isOther = .compare(.field("due"), .notEqual, .integer(5)) && !RecordFilter("due", equals: .null)
        let queries = [
            Self.query(isDue), Self.query(isDue && .contains("title", "x")),
            Self.query(Self.early || RecordFilter("due", equals: .null), order: .field("due")),
        ]
        func add(_ number: UInt64, _ patch: Patch) throws {
            _ = try store.commit([.create("todo", Samples.id(number), patch)], in: .default, now: Samples.now)
        }
        for number in 1...3 { try add(UInt64(number), ["due": .integer(number == 2 ? 7 : 5)]) }
        for query in queries {
            let plan = try store.plan(of: query)
            #expect(plan.count == 1 && plan[0].contains("SEARCH todo USING INDEX sync_index_todo.due"), "\(plan)")
        }
        #expect(try store.records(matching: queries[0]).map(\.id) == [1, 3].map(Samples.id))
        #expect(try store.count(matching: queries[0]) == 2)
        #expect(try store.records(matching: Self.query(isOther)).map(\.id) == [Samples.id(2)])
        try add(4, [:])
        #expect(try store.records(matching: queries[0]).map(\.id) == [1, 3, 4].map(Samples.id))
        #expect(try store.count(matching: queries[0]) == 3)
        #expect(try store.records(matching: Self.query(isOther)).map(\.id) == [Samples.id(2)])
        #expect(try store.count(matching: Self.query(!isOther)) == 3)
    }

    /// Regression test: SQLite read all records in the order of the list to find those in the range.
    @Test func `a range without a limit searches its index, whatever the order is`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog(indexed: true))
        for number in 1...9 as ClosedRange<UInt64> {
            let patch: Patch = ["due": .integer(Int64(number * 70 % 90 * 10)), "title": .text("t\(number * 4 % 9)")]
            _ = try store.commit([.create("todo", Samples.id(number), patch)], in: .default, now: Samples.now)
        }
        let records = try store.records(matching: RecordQuery("todo"))
        let schema = try #require(store.catalog["todo"])
        let orders = [RecordOrder.id, RecordOrder(.id, descending: true), .field("title"), .field("stars")]
        for order in orders {
            let query = RecordQuery("todo", where: [.compare(.field("due"), .less, .integer(450))], order: order)
            let plan = try store.plan(of: query)
            #expect(plan.contains { $0.contains("INDEX sync_index_todo.due (due<?)") }, "\(plan)")
            #expect(
                try store.records(matching: query).map(\.id)
                    == query.matches(among: records, schema: schema).map(\.id))
        }
        // The order is free where the index has it.
        for query in [
            RecordQuery("todo", where: [Self.early], order: .field("due")),
            RecordQuery("todo", where: [Self.early, RecordFilter("title", equals: .text("t1"))]),
        ] {
            let plan = try store.plan(of: query)
            #expect(plan.count == 1 && plan[0].contains("SEARCH todo USING INDEX sync_index_todo."), "\(plan)")
        }
    }

    private static let orders = [
        [RecordOrder(.field("due"))], [RecordOrder(.field("due"), descending: true)],
        [RecordOrder(.field("due"), missing: .integer(30))],
        [RecordOrder(.field("due"), descending: true, missing: .integer(30))],
        [RecordOrder(.field("title"), descending: true), RecordOrder(.field("stars"))],
        [RecordOrder(.field("due"), descending: true), RecordOrder(.field("title"), descending: true)],
    ]

    /// Regression test: in descending order, and among records with the same value or none, SQLite read the index from
    /// its start, so later pages took longer.
    @Test(arguments: orders)
    func `a page after a cursor searches the index, and reads nothing before it`(orders: [RecordOrder]) throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog(indexed: true))
        for number in 1...3 as ClosedRange<UInt64> {
            let patch: Patch = ["due": .integer(Int64(number)), "title": .text("t\(number)")]
            _ = try store.commit([.create("todo", Samples.id(number), patch)], in: .default, now: Samples.now)
        }
        var query = RecordQuery("todo", limit: 2)
        query.orders = orders
        let record = try #require(try store.record("todo", .id(Samples.id(2))))
        let schema = try #require(store.catalog["todo"])
        query.cursor = RecordCursor(of: record, orders: orders, schema: schema)
        for filter in [RecordFilter.everything, .compare(orders[0].term, .notEqual, .null)] {
            query.filter = filter
            let plan = try store.plan(of: query)
            #expect(!plan.contains { $0.contains("SCAN") || $0.contains("MULTI-INDEX") }, "\(plan)")
            #expect(!plan.contains("USE TEMP B-TREE FOR ORDER BY"), "\(plan)")
        }
    }

    @Test(arguments: orders)
    func `pages by an index hold every record once, with equal and missing values`(orders: [RecordOrder]) throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog(indexed: true))
        let schema = try #require(store.catalog["todo"])
        let windows: [(limit: Int?, offset: Int)] = [(nil, 0), (0, 0), (0, 3), (1, 0), (3, 2), (nil, 4), (.max, .max)]
        for isComplete in [true, false] {
            for number in 1...14 as ClosedRange<UInt64> {
                var patch: Patch = ["stars": .integer(Int64(number % 2))]
                if isComplete || number % 3 > 0 {
                    patch.set("due", to: .integer(Int64(number % 4) * 15))
                    patch.set("title", to: .text("t\(number % 5)"))
                }
                let id = Samples.id(isComplete ? number : number + 100)
                _ = try store.commit([.create("todo", id, patch)], in: .default, now: Samples.now)
            }
            let records = try store.records(matching: RecordQuery("todo"))
            for filter in [RecordFilter.everything, .compare(orders[0].term, .notEqual, .null), Self.early] {
                var query = RecordQuery("todo")
                (query.orders, query.filter) = (orders, filter)
                let wanted = query.matches(among: records, schema: schema)
                #expect(try store.records(matching: query) == wanted)
                for (position, record) in wanted.enumerated() {
                    query.cursor = RecordCursor(of: record, orders: orders, schema: schema)
                    for (limit, offset) in windows {
                        (query.limit, query.offset) = (limit, offset)
                        let rest = wanted[(position + 1)...].dropFirst(offset).prefix(limit ?? .max)
                        let found = try store.records(matching: query)
                        #expect(found == Array(rest), "\(position) \(limit ?? -1) \(offset)")
                    }
                    (query.limit, query.offset) = (nil, 0)
                }
            }
        }
    }

    /// Regression test: if a value went missing between two statements of a read, the list had the order of the index.
    @Test func `a list is read in one transaction, so it is in order while values go missing`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog(indexed: true))
        for number in 1...9 as ClosedRange<UInt64> {
            let patch: Patch = ["due": .integer(Int64(number) * 10)]
            _ = try store.commit([.create("todo", Samples.id(number), patch)], in: .default, now: Samples.now)
        }
        let schema = try #require(store.catalog["todo"])
        let query = RecordQuery("todo", order: RecordOrder(.field("due"), missing: .integer(30)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<200 {
                    let patch: Patch = ["due": round.isMultiple(of: 2) ? .null : .integer(90)]
                    _ = try store.commit([.update("todo", Samples.id(9), patch)], in: .default, now: Samples.now)
                }
            }
            group.addTask {
                for _ in 0..<400 {
                    let found = try store.records(matching: query)
                    #expect(found == query.matches(among: found, schema: schema))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `an index appears and disappears with its declaration`() throws {
        let scratch = try Scratch()
        func indexes() throws -> [String] {
            try RawDatabase(scratch.file).run(
                "SELECT name FROM sqlite_schema WHERE name LIKE 'sync_index_%' ORDER BY name")
        }
        let store = try scratch.open(Self.catalog(indexed: false))
        _ = try store.commit([.create("todo", Samples.id(1), ["due": .integer(5)])], in: .default, now: Samples.now)
        store.close()
        #expect(try indexes().isEmpty)
        let indexed = try scratch.open(Self.catalog(indexed: true))
        #expect(try indexed.records(matching: Self.query(Self.early)).map(\.id) == [Samples.id(1)])
        indexed.close()
        #expect(try indexes() == ["sync_index_todo.due", "sync_index_todo.title"])
        try scratch.open(Self.catalog(indexed: false)).close()
        #expect(try indexes().isEmpty)
    }

    @Test func `models whose names and fields read alike have their own indexes`() throws {
        let scratch = try Scratch()
        func model(_ collection: CollectionName, _ field: FieldName, _ reference: FieldName) -> ModelSchema {
            ModelSchema(
                collection: collection,
                fields: [.integer(field).indexed(), .reference(reference, to: "task", required: true)])
        }
        let models = [
            model("task", "due__date", "due_owner"), model("task__due", "date", "owner"),
            model("task_due", "date", "owner"),
        ]
        let store = try scratch.open(SchemaCatalog(models))
        try store.verify()
        store.close()
        let indexes = try RawDatabase(scratch.file).run(
            "SELECT name FROM sqlite_schema WHERE name LIKE 'sync_index_%' OR name LIKE 'sync_ref_%' ORDER BY name")
        #expect(
            indexes == [
                "sync_index_task.due__date", "sync_index_task__due.date", "sync_index_task_due.date",
                "sync_ref_task.due_owner", "sync_ref_task__due.owner", "sync_ref_task_due.owner",
            ])
    }
}
