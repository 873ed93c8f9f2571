import SyncModel
import SyncWire

/// Sample values that the wire tests share.
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
        "settings": .json(#"{"b":[1.50,{"$ref":"x"}],"a":null}"#),
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
            Mutation(
                collection: "avatars", record: record(4), time: .zero,
                intent: .delete(seen: Version(9), unshown: ["alt", "tint"])),
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
        .rejected(
            Rejection(
                code: .danglingReference, message: "users.avatar: no such record", mutation: 1, fields: ["avatar"])),
        .rejected(Rejection(code: RejectionCode(rawValue: "from_the_future"), message: "", mutation: nil)),
    ]

    static let epoch = Epoch(rawValue: "e1")
    static let account = AccountID(rawValue: "ann")

    static let hello = ServerHello(
        protocolVersions: 1...1, epoch: epoch, account: account, serverTime: time,
        clock: WallTime(milliseconds: 1_763_728_463_000),
        limits: ServerLimits(pushBytes: 4 << 20, pushTransactions: 256, pageRows: 1_000),
        models: ServerModels(["users": ["age", "username"], "avatars": ["title"]]))

    static let push = PushRequest(
        identity: ClientIdentity(client: client, incarnation: 2), epoch: epoch, account: account,
        cursors: [Cursor(rawValue: "e1.c.12"), Cursor(rawValue: "e1.d.7")],
        acknowledged: TransactionNumber(3),
        transactions: [
            number(4, transaction),
            number(5, smallTransaction, age: .seconds(30 * 86_400), formerNumbers: [former]),
        ])

    /// The push that `outcomes` answer.
    static let answeredPush = PushRequest(
        identity: ClientIdentity(client: client, incarnation: 2), epoch: epoch, acknowledged: TransactionNumber(3),
        transactions: [number(4, transaction)] + (Int64(5)...7).map { number($0, smallTransaction) })

    static let receipt = CommitReceipt(space: .default, version: Version(13), cursor: Cursor(rawValue: "e1.c.13"))

    static let former = FormerNumber(
        identity: ClientIdentity(client: otherClient, incarnation: 1), number: TransactionNumber(7),
        hash: number(4, transaction).hash)

    static let notice = ConflictNotice(
        number: 7, version: Version(14),
        conflict: FieldConflict(
            collection: conflict.collection, record: conflict.record, field: conflict.field, base: conflict.base,
            winner: Contender(value: conflict.winner.value, stamp: conflict.winner.stamp, account: account),
            loser: conflict.loser, rule: .deleteWins),
        fingerprint: NoticeFingerprint(bits: user.bits))

    static let smallTransaction = Transaction(
        space: .default,
        mutations: [Mutation(collection: "users", record: user, time: time, intent: .create(["username": .text("bo")]))]
    )

    static func number(
        _ number: Int64, _ transaction: Transaction, age: Duration? = nil, formerNumbers: [FormerNumber] = []
    ) -> NumberedTransaction {
        // Every sample can be encoded: the test of the golden files would fail otherwise.
        let hash = try? PayloadHash(of: transaction)
        return NumberedTransaction(
            number: TransactionNumber(number), hash: hash ?? PayloadHash(rawValue: ""), transaction: transaction,
            age: age, formerNumbers: formerNumbers)
    }

    static let userRecord = Record(
        id: user, uid: UID(17), version: Version(12),
        values: [
            .text("ann"), .text("Ann \"é\" \n😀"), .reference(avatar), .integer(3), .real(1.5), .boolean(false),
            .json(#"{"theme":"dark","sizes":[1,2.50]}"#),
        ],
        fieldVersions: [1, 12, 1, 4, 4, 1, 7].map { Version($0) })

    static let avatarRecord = Record(
        id: avatar, uid: UID(0), version: Version(3), values: [.text("a.png"), .reference(user)])

    static let commits = page(
        .commits([
            Commit(
                version: Version(13),
                changes: [
                    RecordChange(
                        collection: "users", id: user, effect: .created(uid: UID(17), ["username": .text("ann")])),
                    RecordChange(
                        collection: "avatars", id: avatar, effect: .updated(["author": .reference(user)])),
                ]),
            Commit(
                version: Version(14),
                changes: [RecordChange(collection: "avatars", id: record(3), effect: .deleted)]),
        ]), version: 14, head: 20, hasMore: true, notices: [notice])

    static let snapshot = page(
        .snapshot(
            [
                SnapshotRows(
                    collection: "users",
                    records: [
                        userRecord,
                        Record(
                            id: record(9), uid: UID(18), version: Version(12),
                            values: [.text("bo"), .null, .null, .null, .null, .null, .null]),
                    ]),
                SnapshotRows(collection: "avatars", records: [avatarRecord]),
            ], isFirst: true, isLast: false), version: 12, head: 12, hasMore: true)

    static func page(
        _ content: PullPage.Content, version: Int64, head: Int64, hasMore: Bool, notices: [ConflictNotice] = []
    ) -> PullPage {
        PullPage(
            space: .default, epoch: epoch, serverTime: time, content: content, cursor: Cursor(rawValue: "e1.c.14"),
            version: Version(version), head: Version(head), hasMore: hasMore, notices: notices,
            hasMoreNotices: !notices.isEmpty, noticesRemovedUpTo: notices.first.map { $0.number - 1 })
    }

    /// Returns the request id in the golden example of an error, or nil for an example without one. The server repeats
    /// an id only if the request has one.
    static func request(for code: ErrorBody.Code) -> WireRequestID? {
        code == .tooLarge ? WireRequestID(high: 0x9F0C_4A6B_E12D_3857, low: 0x7D01_C3B2_A495_8E6F) : nil
    }

    static func message(for code: ErrorBody.Code) -> String {
        switch code {
        case .malformed: #"push: byte 12, transactions[0].seq: unknown key "seq""#
        case .damaged: "push: transaction 4 does not match its hash: the request was altered in transit"
        case .unauthorized: "expected a bearer token"
        case .forbidden: "the space private does not exist, or you may not read it"
        case .otherAccount: "the request is for the account 'ann', but the token belongs to 'bo'"
        case .notFound: "the record does not exist, or you may not see it"
        case .timedOut: "the body did not come within 30 seconds"
        case .tooLarge: "the body is longer than 4194304 bytes"
        case .throttled: "ask again later"
        case .unavailable: "the store is busy"
        default: "the server failed"
        }
    }
}
