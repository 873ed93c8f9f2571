import SyncModel
import SyncTransportHTTP
import SyncWire

extension ForeignDecoder {
    /// The messages of the protocol, the values in them that stores keep separately, and the stream of hints.
    static let wire: [ForeignDecoder] = [
        ForeignDecoder(
            "hello", seeds: { try GoldenExamples.wire("hello-response") }, decode: HelloCodec.decode,
            encode: HelloCodec.encode),
        ForeignDecoder(
            "push-request", seeds: { try GoldenExamples.wire("push-request") }, decode: PushCodec.decodeRequest,
            encode: { (request: PushRequest) in try PushCodec.encode(request) }),
        ForeignDecoder(
            "push-response", seeds: { try GoldenExamples.wire("push-response") },
            decode: { try PushCodec.decodeResponse($0, to: answeredPush) },
            encode: { try PushCodec.encode($0, to: answeredPush) }),
        ForeignDecoder(
            "pull-request", seeds: { try GoldenExamples.wire("pull-request") }, decode: PullCodec.decodeRequest,
            encode: PullCodec.encode),
        ForeignDecoder(
            "pull-response", seeds: { try GoldenExamples.wire("pull-response") },
            decode: { try PullCodec.decodeResponse($0, catalog: catalog) },
            encode: { try PullCodec.encode($0, catalog: catalog) }),
        ForeignDecoder(
            "fetch-request", seeds: { try GoldenExamples.wire("fetch-request") }, decode: FetchCodec.decodeRequest,
            encode: FetchCodec.encode),
        fetchResponse,
        ForeignDecoder(
            "hint", seeds: { try GoldenExamples.wire("hint") }, decode: HintCodec.decode, encode: HintCodec.encode),
        ForeignDecoder(
            "error", seeds: { try GoldenExamples.wire("error-") }, decode: ErrorBody.decode, encode: { $0.encode() }),
        ForeignDecoder(
            "transaction", seeds: { [try TransactionCodec.encode(transaction)] },
            decode: { try TransactionCodec.decode($0) }, encode: TransactionCodec.encode),
        ForeignDecoder(
            "outcome",
            seeds: {
                [
                    Array(#"{"applied":{"version":3}}"#.utf8),
                    Array(#"{"rejected":{"code":"forbidden","message":""}}"#.utf8),
                ]
            }, decode: OutcomeCodec.decode, encode: OutcomeCodec.encode),
        ForeignDecoder(
            "changes",
            seeds: {
                [try ChangesCodec.encode([RecordChange(collection: "users", id: record, effect: .updated(patch))])]
            }, decode: ChangesCodec.decode, encode: ChangesCodec.encode),
        ForeignDecoder(
            "patch", seeds: { [try PatchCodec.encode(patch)] }, decode: PatchCodec.decode, encode: PatchCodec.encode),
        snapshotRow,
        events,
    ]

    /// A row that the encoder of a snapshot's rows accepts must be readable: the server sends it, and trusts the check.
    private static let snapshotRow = ForeignDecoder(
        "snapshot-row", seeds: { [try PatchCodec.encode(patch), Array("{}".utf8)] },
        check: { bytes in
            guard let schema = catalog["users"] else { throw PropertyViolation("there is no collection users") }
            var encoder = SnapshotRowsEncoder(schema: schema)
            let isAdded = bytes.withUnsafeBufferPointer { fields in
                let row = SnapshotRowsEncoder.Row(
                    id: record, uid: UID(7), version: Version(3), creation: Version(2), origins: [], fields: fields)
                return (try? encoder.add(row)) ?? false
            }
            guard isAdded else { return }
            let rows = encoder.rows()
            guard let found = rows.records.first, rows.count == 1, let values = try? PatchCodec.decode(bytes) else {
                throw PropertyViolation("the row was accepted, but its text is not that of fields")
            }
            for (position, field) in schema.fields.enumerated()
            where found.values[position] != values[field.name] ?? .null {
                throw PropertyViolation("\(field.name) is \(found.values[position]) in the row")
            }
        })

    /// The push that the golden example of a response answers, as far as a decoder of the response needs it.
    private static let answeredPush: PushRequest = {
        let example = (try? GoldenExamples.wire("push-response-answered"))?.first ?? []
        let results = String(decoding: example, as: UTF8.self).matches(
            of: /"number":\s*(\d+),\s*"hash":\s*"([0-9a-f]{64})"/)
        return PushRequest(
            identity: ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0),
            epoch: nil, acknowledged: .first,
            transactions: results.map { result in
                NumberedTransaction(
                    number: TransactionNumber(Int64(result.1) ?? 0), hash: PayloadHash(rawValue: String(result.2)),
                    transaction: Transaction(space: .default, mutations: []))
            })
    }()

    private static let fetchResponse: ForeignDecoder = {
        let request = FetchRequest(space: .default, collection: "avatars", key: .id(avatar))
        return ForeignDecoder(
            "fetch-response", seeds: { try GoldenExamples.wire("fetch-response") },
            decode: { try FetchCodec.decodeResponse($0, to: request, catalog: catalog) },
            encode: { try FetchCodec.encode($0, of: "avatars", catalog: catalog) })
    }()

    /// A stream must have the same events whether its bytes arrive all at once or one by one.
    private static let events = ForeignDecoder(
        "events",
        seeds: {
            try GoldenExamples.wire("hint").map { hint in Array("event: hint\ndata: ".utf8) + hint + Array("\n\n".utf8)
            }
                + [Array(": comment\r\n\r\nevent: hint\r\ndata: {}\r\n\r\n".utf8)]
        },
        check: { bytes in
            var whole = ServerSentEvents()
            let events = try? whole.consume(bytes)
            var pieces = ServerSentEvents()
            var gathered: [ServerSentEvents.Event]? = []
            for byte in bytes {
                guard let more = try? pieces.consume(CollectionOfOne(byte)) else {
                    gathered = nil
                    break
                }
                gathered?.append(contentsOf: more)
            }
            guard events == gathered else {
                throw PropertyViolation("the stream has other events when its bytes arrive one by one")
            }
            for event in events ?? [] { _ = try? HintCodec.decode(event.data) }
        })

    // MARK: Values

    /// The catalog of the golden examples, with a field of each type.
    private static let catalog = SchemaCatalog([
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

    private static let record = RecordID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0001))
    /// The record in the golden response to a fetch.
    private static let avatar = RecordID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0002))

    private static let patch: Patch = [
        "username": .text("ann"), "avatar": .reference(avatar), "logins": .integer(.min), "score": .real(2),
        "is_active": .boolean(true), "settings": .json(#"{"b":[1.50,{"$ref":"x"}],"a":null}"#),
    ]

    private static let transaction = Transaction(
        space: .default,
        mutations: [
            Mutation(collection: "users", record: record, time: .zero, intent: .create(patch)),
            Mutation(
                collection: "avatars", record: avatar, time: .zero,
                intent: .update([FieldEdit(field: "author", value: .reference(record), before: .null, seen: .zero)])),
            Mutation(collection: "avatars", record: avatar, time: .zero, intent: .delete(seen: Version(9))),
        ])
}
