import SyncCore
import SyncModel
import Testing

/// The plan that restores a journal entry, based on the current state of its records.
@Suite struct RestorePlanTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "users", fields: [.text("name"), .reference("avatar", to: "avatars")]),
        ModelSchema(collection: "avatars", fields: [.reference("author", to: "users", required: true)]),
        ModelSchema(
            collection: "frames", fields: [.reference("around", to: "avatars", required: true), .text("title")]),
    ])

    private static func id(_ number: UInt64) -> RecordID {
        RecordID(bits: Identifier128(high: 0x018B_CFE5_6800_7000, low: 0x8000_0000_0000_0000 | number))
    }

    private static let (ada, bo, art, ink) = (id(1), id(2), id(3), id(4))

    private static func user(_ id: RecordID, avatar: RecordID? = nil) -> Mutation {
        var patch: Patch = ["name": .text("\(id)")]
        if let avatar { patch.set("avatar", to: .reference(avatar)) }
        return Mutation(collection: "users", record: id, time: .zero, intent: .create(patch))
    }

    private static func avatar(_ id: RecordID, of author: RecordID) -> Mutation {
        Mutation(collection: "avatars", record: id, time: .zero, intent: .create(["author": .reference(author)]))
    }

    private static func renamed(_ id: RecordID) -> Mutation {
        let edit = FieldEdit(field: "name", value: .text("new"), before: .text("old"), seen: .zero)
        return Mutation(collection: "users", record: id, time: .zero, intent: .update([edit]))
    }

    private static func frame(_ id: RecordID, around avatar: RecordID) -> Mutation {
        Mutation(collection: "frames", record: id, time: .zero, intent: .create(["around": .reference(avatar)]))
    }

    private static func linked(_ id: RecordID, to avatar: RecordID) -> Mutation {
        let edit = FieldEdit(field: "avatar", value: .reference(avatar), before: .null, seen: .zero)
        return Mutation(collection: "users", record: id, time: .zero, intent: .update([edit]))
    }

    private static func authored(_ id: RecordID, by user: RecordID) -> Mutation {
        let edit = FieldEdit(field: "author", value: .reference(user), before: .null, seen: .zero)
        return Mutation(collection: "avatars", record: id, time: .zero, intent: .update([edit]))
    }

    private static func deleted(_ id: RecordID) -> Mutation {
        Mutation(collection: "users", record: id, time: .zero, intent: .delete(seen: .zero))
    }

    private static func plan(
        _ event: JournalEntry.Event, shown: Set<RecordID> = [], elsewhere: Set<RecordID> = [],
        state: JournalEntry.State = .active, records: Transaction? = nil, replaced: [RecordID: RecordID] = [:],
        offered: Set<RecordID> = [], restored: [RecordID: Patch] = [:],
        newID: @escaping () -> RecordID = { remade }
    ) throws -> RestorePlan {
        let entry = JournalEntry(
            number: 7, at: WallTime(milliseconds: 0), sequence: nil, event: event, state: state, records: records)
        return try RestorePlan(
            of: entry, in: .default,
            RestorePlan.Records(
                catalog, newID: newID, replacement: { replaced[$0.id] },
                space: { shown.contains($0.id) ? .default : elsewhere.contains($0.id) ? "elsewhere" : nil },
                isOffered: { offered.contains($0.id) }, restoredCreation: { restored[$0.id] }))
    }

    private static let remade = id(99)

    private static func transaction(_ mutations: Mutation...) -> Transaction {
        Transaction(space: .default, mutations: mutations)
    }

    // MARK: Rejected and cancelled

    @Test func `a create whose id a record of another space has gets a new id, and references follow it`() throws {
        let used = Rejection(code: .duplicateRecord, message: "the id is used", mutation: 0)
        let kept = Self.transaction(Self.user(Self.ada), Self.avatar(Self.art, of: Self.ada))
        // Whether this device follows the other space makes no difference, and neither does the reason.
        let forbidden = Rejection(code: .forbidden, message: "no", mutation: nil)
        for (event, elsewhere): (JournalEntry.Event, Set<RecordID>) in [
            (.rejected(kept, used), []), (.rejected(kept, used), [Self.ada]),
            (.rejected(kept, forbidden), [Self.ada]), (.cancelled(kept), [Self.ada]),
        ] {
            let plan = try Self.plan(event, elsewhere: elsewhere)
            #expect(
                plan.transactions == [
                    [
                        .create("users", Self.remade, ["name": .text("\(Self.ada)")]),
                        .create("avatars", Self.art, ["author": .reference(Self.remade)]),
                    ]
                ])
            #expect(plan.replacements.map(\.deleted) == [Self.ada])
        }
    }

    @Test func `an edit of a record that an earlier restore created in this space does not go to the other space`()
        throws
    {
        let plan = try Self.plan(
            .cancelled(Self.transaction(Self.renamed(Self.ada), Self.linked(Self.bo, to: Self.art))),
            shown: [Self.bo, Self.ink, Self.remade], elsewhere: [Self.ada, Self.art],
            replaced: [Self.ada: Self.remade, Self.art: Self.ink])
        #expect(
            plan.transactions == [
                [
                    .update("users", Self.remade, ["name": .text("new")]),
                    .update("users", Self.bo, ["avatar": .reference(Self.ink)]),
                ]
            ])
    }

    @Test func `a rejected or cancelled entry is restored as one transaction against the current records`() throws {
        let kept = Self.transaction(
            Self.user(Self.ada), Self.user(Self.bo), Self.renamed(Self.art), Self.deleted(Self.art),
            Self.deleted(Self.bo))
        let refused = Rejection(code: .forbidden, message: "no", mutation: nil)
        for event in [JournalEntry.Event.rejected(kept, refused), .cancelled(kept)] {
            let plan = try Self.plan(event, shown: [Self.bo, Self.art])
            #expect(
                plan.transactions == [
                    [
                        .create("users", Self.ada, ["name": .text("\(Self.ada)")]),
                        .update("users", Self.bo, ["name": .text("\(Self.bo)")]),
                        .update("users", Self.art, ["name": .text("new")]), .delete("users", Self.art),
                        .delete("users", Self.bo),
                    ]
                ])
            #expect(plan.postponed.isEmpty && plan.space == .default)
        }
    }

    @Test func `a rejected edit of a deleted record recreates it, and other entries use its new id`()
        throws
    {
        let gone = Rejection(code: .recordDeleted, message: "gone", mutation: 0)
        let rename = Self.transaction(Self.renamed(Self.ada))
        let whole = Self.transaction(Self.user(Self.ada, avatar: Self.art))
        let plan = try Self.plan(.rejected(rename, gone), records: whole)
        // The avatar is gone too. The reference to it is optional, so the plan leaves it out.
        #expect(plan.transactions == [[.create("users", Self.remade, ["name": .text("new")])]])
        #expect(plan.replacements.map(\.deleted) == [Self.ada] && plan.replacements.map(\.replacement) == [Self.remade])
        #expect(
            plan.droppedReferences == [
                DroppedReference(
                    record: RecordAddress("users", Self.remade), field: "avatar",
                    target: RecordAddress("avatars", Self.art))
            ])

        let second = try Self.plan(
            .rejected(rename, gone), shown: [Self.remade], records: whole, replaced: [Self.ada: Self.remade])
        #expect(second.transactions == [[.update("users", Self.remade, ["name": .text("new")])]])
        #expect(second.replacements.isEmpty)

        let reference = Self.transaction(Self.user(Self.bo, avatar: Self.art))
        let follower = try Self.plan(
            .cancelled(reference), shown: [Self.remade], replaced: [Self.art: Self.remade])
        #expect(
            follower.transactions == [
                [.create("users", Self.bo, ["name": .text("\(Self.bo)"), "avatar": .reference(Self.remade)])]
            ])
    }

    @Test func `a rejected edit of a record that is not here, and that the entry does not describe, names the entry`() {
        let refused = Rejection(code: .forbidden, message: "no", mutation: 0)
        let failure = #expect(throws: StoreError.self) {
            try Self.plan(.rejected(Self.transaction(Self.renamed(Self.ada)), refused))
        }
        #expect(failure?.code == .missingRecord)
        #expect(failure?.message.contains("entry 7 does not have its other values") == true)
    }

    @Test func `a record that is created again keeps its reference to a record that the same entry creates`() throws {
        let gone = Rejection(code: .recordDeleted, message: "gone", mutation: 1)
        let kept = Self.transaction(Self.avatar(Self.art, of: Self.bo), Self.linked(Self.ada, to: Self.art))
        let whole = Self.transaction(Self.user(Self.ada, avatar: Self.art))
        for event in [JournalEntry.Event.rejected(kept, gone), .cancelled(kept)] {
            let plan = try Self.plan(event, shown: [Self.bo], records: whole)
            #expect(
                plan.transactions == [
                    [
                        .create("avatars", Self.art, ["author": .reference(Self.bo)]),
                        .create(
                            "users", Self.remade, ["name": .text("\(Self.ada)"), "avatar": .reference(Self.art)]),
                    ]
                ])
        }
    }

    @Test func `a record that is created again keeps its reference to a deleted record that the entry describes`()
        throws
    {
        let gone = Rejection(code: .recordDeleted, message: "gone", mutation: 0)
        let kept = Self.transaction(Self.linked(Self.ada, to: Self.art))
        let records = Self.transaction(Self.user(Self.ada, avatar: Self.art), Self.avatar(Self.art, of: Self.bo))
        var ids = [Self.id(98), Self.id(99)].makeIterator()
        let plan = try Self.plan(.rejected(kept, gone), shown: [Self.bo], records: records) { ids.next() ?? Self.ink }
        #expect(
            plan.transactions == [
                [
                    .create(
                        "users", Self.id(98), ["name": .text("\(Self.ada)"), "avatar": .reference(Self.id(99))]),
                    .create("avatars", Self.id(99), ["author": .reference(Self.bo)]),
                ]
            ])
    }

    @Test func `a lost edit follows a record that was created again under a new id`() throws {
        let lost = Self.transaction(Self.authored(Self.art, by: Self.ada), Self.renamed(Self.ada))
        let plan = try Self.plan(
            .lost(lost), shown: [Self.remade, Self.art], replaced: [Self.ada: Self.remade])
        #expect(
            plan.transactions.flatMap(\.self) == [
                .update("users", Self.remade, ["name": .text("new")]),
                .update("avatars", Self.art, ["author": .reference(Self.remade)]),
            ])
        #expect(plan.postponed.isEmpty)
    }

    @Test func `a create that was rejected because its record was deleted gets a new id`() throws {
        let kept = Self.transaction(Self.user(Self.bo), Self.user(Self.ada))
        let plan = try Self.plan(.rejected(kept, Rejection(code: .recordDeleted, message: "gone", mutation: 1)))
        #expect(
            plan.transactions == [
                [
                    .create("users", Self.bo, ["name": .text("\(Self.bo)")]),
                    .create("users", Self.remade, ["name": .text("\(Self.ada)")]),
                ]
            ])
    }

    @Test func `a rejected create keeps its own values, whatever the device has shown of its record`() throws {
        let gone = Rejection(code: .recordDeleted, message: "gone", mutation: 0)
        let shown = Mutation(
            collection: "users", record: Self.ada, time: .zero, intent: .create(["name": .text("another's")]))
        let plan = try Self.plan(
            .rejected(Self.transaction(Self.user(Self.ada), Self.avatar(Self.art, of: Self.ada)), gone),
            records: Self.transaction(shown))
        #expect(
            plan.transactions == [
                [
                    .create("users", Self.remade, Self.name(Self.ada)),
                    .create("avatars", Self.art, ["author": .reference(Self.remade)]),
                ]
            ])
    }

    @Test func `an edit of a record that was restored and deleted again creates it from the restored entry`() throws {
        let missing = Rejection(code: .missingRecord, message: "missing", mutation: 0)
        let plan = try Self.plan(
            .rejected(Self.transaction(Self.renamed(Self.ada)), missing),
            restored: [Self.ada: ["name": .text("old"), "bio": .text("text")]])
        #expect(
            plan.transactions == [[.create("users", Self.remade, ["name": .text("new"), "bio": .text("text")])]])
    }

    @Test func `a creation is restored together with the deleted records that it requires`() throws {
        let gone = Rejection(code: .danglingReference, message: "gone", mutation: 0)
        let frame = Self.transaction(Self.frame(Self.ink, around: Self.art))
        let records = Self.transaction(Self.avatar(Self.art, of: Self.ada), Self.user(Self.ada, avatar: Self.art))
        var ids = [Self.id(51), Self.id(50)]
        let plan = try Self.plan(.rejected(frame, gone), records: records, newID: { ids.removeLast() })
        #expect(
            plan.transactions == [
                [
                    .create("frames", Self.ink, ["around": .reference(Self.id(50))]),
                    .create("avatars", Self.id(50), ["author": .reference(Self.id(51))]),
                    .create("users", Self.id(51), Self.name(Self.ada, avatar: Self.id(50))),
                ]
            ])
        #expect(plan.replacements.map(\.deleted) == [Self.art, Self.ada])

        // A record that is on the device, or that was recreated under a new id, is not created again.
        let present = try Self.plan(.rejected(frame, gone), shown: [Self.art], records: records)
        #expect(present.transactions == [[.create("frames", Self.ink, ["around": .reference(Self.art)])]])
        let again = try Self.plan(
            .rejected(frame, gone), shown: [Self.id(50)], records: records, replaced: [Self.art: Self.id(50)])
        #expect(again.transactions == [[.create("frames", Self.ink, ["around": .reference(Self.id(50))])]])
        // The avatar's replacement was deleted too.
        let twice = try Self.plan(
            .rejected(frame, gone), shown: [Self.ada], records: records, replaced: [Self.art: Self.id(50)])
        #expect(
            twice.transactions == [
                [
                    .create("frames", Self.ink, ["around": .reference(Self.remade)]),
                    .create("avatars", Self.remade, ["author": .reference(Self.ada)]),
                ]
            ])
    }

    @Test func `a losing value of a deleted record is restored with the kept record, or names what is missing`() throws
    {
        let stamp = Stamp(time: .zero, client: ClientID(bits: Identifier128(high: 1, low: 1)))
        let lost = FieldConflict(
            collection: "frames", record: Self.ink, field: "title", base: .null,
            winner: Contender(value: .text("theirs"), stamp: stamp),
            loser: Contender(value: .text("mine"), stamp: stamp), rule: .latestEdit)
        let records = Self.transaction(Self.frame(Self.ink, around: Self.art))
        let plan = try Self.plan(.merged([lost]), shown: [Self.art], records: records)
        #expect(
            plan.transactions == [
                [.create("frames", Self.remade, ["around": .reference(Self.art), "title": .text("mine")])]
            ])
        let error = #expect(throws: StoreError.self) {
            _ = try Self.plan(.merged([lost]))
        }
        #expect(error?.code == .missingRecord && error?.message.contains("entry 7 lacks its around") == true)
        // Other values of the entry do not depend on it.
        let rest = try Self.plan(.merged([lost, Self.conflict(Self.ada, name: "Ada")]), shown: [Self.ada])
        #expect(rest.transactions == [[.update("users", Self.ada, ["name": .text("Ada")])]])
        #expect(rest.postponed.map(\.address) == [RecordAddress("frames", Self.ink)])
        #expect(rest.postponed.map { $0.patch[FieldName(rawValue: "title")!] } == [.text("mine")])
        #expect(rest.replacements.isEmpty)
        // Nor do they depend on a required reference to a record that is gone.
        let reference = FieldConflict(
            collection: "frames", record: Self.ink, field: "around", base: .null,
            winner: Contender(value: .reference(Self.ada), stamp: stamp),
            loser: Contender(value: .reference(Self.art), stamp: stamp), rule: .latestEdit)
        let kept = try Self.plan(.merged([reference, lost]), shown: [Self.ink])
        #expect(kept.transactions == [[.update("frames", Self.ink, ["title": .text("mine")])]])
        #expect(kept.postponed.map { $0.patch[FieldName(rawValue: "around")!] } == [.reference(Self.art)])
        let alone = #expect(throws: StoreError.self) { _ = try Self.plan(.merged([reference]), shown: [Self.ink]) }
        #expect(alone?.code == .danglingReference && alone?.message.contains("around refers to") == true)
        let gone = try Self.plan(
            .merged([lost, Self.conflict(Self.ada, name: "Ada")]), shown: [Self.ada], records: records)
        #expect(gone.transactions == [[.update("users", Self.ada, ["name": .text("Ada")])]])
    }

    @Test func `an entry that has already been restored is refused`() {
        let error = #expect(throws: StoreError.self) {
            _ = try Self.plan(.cancelled(Self.transaction(Self.user(Self.ada))), state: .restored)
        }
        #expect(error?.code == .entryIsFrozen && error?.message.contains("7") == true)
    }

    // MARK: Losing values

    private static func conflict(_ id: RecordID, name: String, rule: ConflictRule = .latestEdit) -> FieldConflict {
        let stamp = Stamp(time: .zero, client: ClientID(bits: Identifier128(high: 1, low: 1)))
        return FieldConflict(
            collection: "users", record: id, field: "name", base: .null,
            winner: Contender(value: rule == .deleteWins ? .null : .text("theirs"), stamp: stamp),
            loser: Contender(value: .text(name), stamp: stamp), rule: rule)
    }

    @Test func `restoring a merged or overwritten entry writes its losing values to the records`() throws {
        let conflicts = [Self.conflict(Self.ada, name: "Ada"), Self.conflict(Self.bo, name: "Bo")]
        for event in [JournalEntry.Event.merged(conflicts), .overwritten(conflicts, deleted: nil)] {
            let plan = try Self.plan(event, shown: [Self.ada, Self.bo])
            #expect(
                plan.transactions == [
                    [
                        .update("users", Self.ada, ["name": .text("Ada")]),
                        .update("users", Self.bo, ["name": .text("Bo")]),
                    ]
                ])
        }
    }

    @Test func `a deleted record is recreated with all of its fields under a new id`() throws {
        let whole = Self.transaction(Self.user(Self.ada, avatar: Self.art))
        let plan = try Self.plan(
            .overwritten([Self.conflict(Self.ada, name: "Ada", rule: .deleteWins)], deleted: whole), shown: [Self.art])
        #expect(
            plan.transactions == [
                [.create("users", Self.remade, ["name": .text("Ada"), "avatar": .reference(Self.art)])]
            ])
    }

    // MARK: Lost

    /// The lost records, the records that exist now, the expected plan, and the records that remain in the
    /// journal.
    private static let cases:
        [(lostRecords: Transaction, shown: Set<RecordID>, planned: [[RecordEdit]], left: [RecordID])] = [
            // Independent records get separate transactions.
            (
                transaction(user(ada), user(bo)), [],
                [[.create("users", ada, name(ada))], [.create("users", bo, name(bo))]], []
            ),
            // A record comes after the record that it requires.
            (
                transaction(avatar(art, of: ada), user(ada)), [],
                [[.create("users", ada, name(ada))], [.create("avatars", art, ["author": .reference(ada)])]], []
            ),
            // Records that refer to each other share one transaction.
            (
                transaction(user(ada, avatar: art), avatar(art, of: ada)), [],
                [
                    [
                        .create("users", ada, name(ada, avatar: art)),
                        .create("avatars", art, ["author": .reference(ada)]),
                    ]
                ], []
            ),
            // An optional reference is dropped if its target is missing, and kept if the target exists.
            (transaction(user(ada, avatar: art)), [], [[.create("users", ada, name(ada))]], []),
            (transaction(user(ada, avatar: art)), [art], [[.create("users", ada, name(ada, avatar: art))]], []),
            // The avatar waits, because the author that it requires is missing. The user whose reference to the avatar
            // is optional is restored without the reference.
            (
                transaction(user(ada), avatar(art, of: bo), user(ink, avatar: art)), [],
                [[.create("users", ada, name(ada))], [.create("users", ink, name(ink))]], [art]
            ),
            // A record that requires a waiting or missing record waits, too.
            (
                transaction(frame(ink, around: art), avatar(art, of: bo), user(ada)), [],
                [[.create("users", ada, name(ada))]], [art, ink]
            ),
            (transaction(frame(ink, around: art), user(ada)), [ink], [[.create("users", ada, name(ada))]], [ink]),
            // Two edits refer to each other's records, and one of the records is missing. Both wait.
            (
                transaction(linked(ada, to: art), authored(art, by: ada), user(bo)), [ada],
                [[.create("users", bo, name(bo))]], [art, ada]
            ),
            (
                transaction(linked(ada, to: art), authored(art, by: ada), user(bo)), [art],
                [[.create("users", bo, name(bo))]], [ada, art]
            ),
            // An edit refers to a record that an earlier transaction restores.
            (
                transaction(user(ada), authored(art, by: ada)), [art],
                [[.create("users", ada, name(ada))], [.update("avatars", art, ["author": .reference(ada)])]], []
            ),
            // A record that exists again is updated instead of created.
            (transaction(user(ada)), [ada], [[.update("users", ada, name(ada))]], []),
            // An edit of an existing record is written.
            (transaction(renamed(ada)), [ada], [[.update("users", ada, ["name": .text("new")])]], []),
            // An edit of a missing record waits, and does not satisfy a required reference to that record.
            (
                transaction(renamed(bo), avatar(art, of: bo), user(ada)), [], [[.create("users", ada, name(ada))]],
                [bo, art]
            ),
        ]

    private static func name(_ id: RecordID, avatar: RecordID? = nil) -> Patch { user(id, avatar: avatar).patch }

    @Test(arguments: cases.indices) func `lost records are restored in independent transactions`(index: Int) throws {
        let (lost, shown, planned, left) = Self.cases[index]
        let plan = try Self.plan(.lost(lost), shown: shown)
        #expect(plan.transactions == planned)
        #expect(plan.postponed.map(\.record) == left)
    }

    @Test func `a record whose id is now in another space holds back only the records that require it`() throws {
        let lost = Self.transaction(
            Self.user(Self.ada), Self.avatar(Self.art, of: Self.ada), Self.user(Self.bo, avatar: Self.art))
        let plan = try Self.plan(.lost(lost), elsewhere: [Self.ada])
        #expect(plan.transactions == [[.create("users", Self.bo, Self.name(Self.bo))]])
        #expect(plan.postponed.map(\.record) == [Self.ada, Self.art])
    }

    @Test func `an entry in which every record requires a missing record is refused and stays in the journal`() {
        let error = #expect(throws: StoreError.self) {
            _ = try Self.plan(.lost(Self.transaction(Self.avatar(Self.art, of: Self.bo))))
        }
        #expect(error?.code == .danglingReference)
    }
}
