import SyncModel

/// Values that the tests of the wire share: one of everything.
enum Samples {
    static let client = ClientID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7001, low: 0x8000_0000_0000_0001))
    static let otherClient = ClientID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7002, low: 0x8000_0000_0000_0002))
    static let user = record(1)
    static let avatar = record(2)
    static let time = HybridTime(wall: WallTime(milliseconds: 1_763_728_464_000), counter: 3)

    static func record(_ number: UInt64) -> RecordID {
        RecordID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0000 | number))
    }

    static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "users",
            fields: [
                .text("username", required: true, bytes: 1...64), .text("display_name"),
                .reference("avatar", to: "avatars"), .integer("logins"), .real("score"), .boolean("is_active"),
                .json("settings"),
            ]),
        ModelSchema(
            collection: "avatars",
            fields: [.text("image_url", required: true), .reference("author", to: "users", required: true)]),
    ])

    static let patch: Patch = [
        "username": .text("ann"), "display_name": .text("Ann \"é\" \n😀"), "avatar": .reference(avatar),
        "logins": .integer(.min), "score": .real(2), "is_active": .boolean(true),
        "settings": .json(#"{"b": [1.50, {"$ref":"x"}],"a":null}"#),
    ]

    static let transaction = Transaction(
        space: .default,
        mutations: [
            Mutation(collection: "users", record: user, time: time, intent: .create(patch)),
            Mutation(
                collection: "avatars", record: avatar, time: time.next,
                intent: .update([
                    FieldEdit(
                        field: "image_url", value: .text("b.png"), before: .text("a.png"), seen: Version(7)),
                    FieldEdit(field: "author", value: .reference(user), before: .null, seen: .zero),
                ])),
            Mutation(collection: "avatars", record: record(3), time: .zero, intent: .delete(seen: Version(9))),
        ])

    static let conflict = FieldConflict(
        collection: "users", record: user, field: "display_name", base: .text("Ann"),
        winner: Contender(value: .text("Anna"), stamp: Stamp(time: time.next, client: client)),
        loser: Contender(value: .null, stamp: Stamp(time: time, client: otherClient)), rule: .latestEdit)

    static let outcomes: [Outcome] = [
        .applied(version: Version(12), uids: [], conflicts: []),
        .applied(
            version: Version(13),
            uids: [
                AssignedUID(collection: "users", record: user, uid: UID(0)),
                AssignedUID(collection: "avatars", record: avatar, uid: UID(41)),
            ], conflicts: [conflict]),
        .rejected(Rejection(code: .danglingReference, message: "users.avatar: no such record", mutation: 1)),
        .rejected(Rejection(code: RejectionCode(rawValue: "from_the_future"), message: "", mutation: nil)),
    ]
}
