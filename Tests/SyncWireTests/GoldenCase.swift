import SyncModel
import SyncWire
import Testing

/// A message with its golden file under `Schemas/wire/examples`.
struct GoldenCase: Sendable, CustomTestStringConvertible {
    let name: String
    /// The schema of the OpenAPI document that describes the message.
    let schema: String
    let encode: @Sendable () throws -> [UInt8]
    /// Decodes the contents of the file and encodes the result.
    let recode: @Sendable ([UInt8]) throws -> [UInt8]

    var testDescription: String { name }

    static let all: [GoldenCase] =
        [
            hello,
            pushRequest("push-request", Samples.push),
            pushRequest(
                "push-request-first-contact",
                PushRequest(identity: Samples.push.identity, epoch: nil, acknowledged: .first, transactions: [])),
            pushResponse(
                "push-response-answered",
                .answered(
                    Samples.outcomes.enumerated().map { index, outcome in
                        TransactionResult(
                            number: TransactionNumber(Int64(index) + 4), outcome: outcome,
                            receipt: index == 1 ? Samples.receipt : nil)
                    }, epoch: Samples.epoch, serverTime: Samples.time)),
            pushResponse("push-response-gap", .refused(.gap(expected: TransactionNumber(4)))),
            pushResponse("push-response-identity-conflict", .refused(.identityConflict(number: TransactionNumber(6)))),
            pushResponse("push-response-epoch-changed", .refused(.epochChanged(Epoch(rawValue: "e2")))),
            pullRequest(
                "pull-request",
                PullRequest(
                    space: .default, cursor: Cursor(rawValue: "e1.c.12"), receipt: Cursor(rawValue: "e1.c.14"),
                    limit: 500, account: Samples.account,
                    notices: NoticeRequest(
                        clients: [Samples.client, Samples.otherClient], after: 6,
                        fingerprint: Samples.notice.fingerprint))),
            pullRequest("pull-request-snapshot", PullRequest(space: .default, cursor: nil, limit: 500)),
            pullResponse("pull-response-commits", .page(Samples.commits)),
            pullResponse("pull-response-snapshot", .page(Samples.snapshot)),
            pullResponse("pull-response-must-reset-horizon", .mustReset(.horizon)),
            pullResponse("pull-response-must-reset-epoch", .mustReset(.epoch)),
            pullResponse("pull-response-must-reset-cursor", .mustReset(.cursor)),
            pullResponse("pull-response-no-access", .noAccess(Samples.epoch)),
            fetchRequest(
                "fetch-request-by-id", FetchRequest(space: .default, collection: "users", key: .id(Samples.user))),
            fetchRequest(
                "fetch-request-by-uid", FetchRequest(space: .default, collection: "users", key: .uid(UID(17)))),
            fetchResponse,
            GoldenCase(
                name: "hint", schema: "Hint",
                encode: { HintCodec.encode(Hint(space: .default, head: Version(14))) },
                recode: { HintCodec.encode(try HintCodec.decode($0)) }),
        ]
        + ErrorBody.Code.known.map { code in
            GoldenCase(
                name: "error-" + code.rawValue.replacing("_", with: "-"), schema: "Error",
                encode: { ErrorBody(code, Samples.message(for: code), request: Samples.request(for: code)).encode() },
                recode: { try ErrorBody.decode($0).encode() })
        }

    private static let hello = GoldenCase(
        name: "hello-response", schema: "Hello",
        encode: { HelloCodec.encode(Samples.hello) },
        recode: { HelloCodec.encode(try HelloCodec.decode($0)) })

    private static let fetchResponse: GoldenCase = {
        let request = FetchRequest(space: .default, collection: "avatars", key: .id(Samples.avatar))
        return GoldenCase(
            name: "fetch-response", schema: "Rows",
            encode: { try FetchCodec.encode(Samples.avatarRecord, of: "avatars", catalog: Samples.catalog) },
            recode: {
                let record = try FetchCodec.decodeResponse($0, to: request, catalog: Samples.catalog)
                return try FetchCodec.encode(record, of: "avatars", catalog: Samples.catalog)
            })
    }()

    private static func pushRequest(_ name: String, _ request: PushRequest) -> GoldenCase {
        GoldenCase(
            name: name, schema: "PushRequest", encode: { try PushCodec.encode(request) },
            recode: { try PushCodec.encode(PushCodec.decodeRequest($0)) })
    }

    private static func pushResponse(_ name: String, _ response: PushResponse) -> GoldenCase {
        GoldenCase(
            name: name, schema: "PushResponse", encode: { try PushCodec.encode(response, to: Samples.answeredPush) },
            recode: {
                let response = try PushCodec.decodeResponse($0, to: Samples.answeredPush)
                return try PushCodec.encode(response, to: Samples.answeredPush)
            })
    }

    private static func pullRequest(_ name: String, _ request: PullRequest) -> GoldenCase {
        GoldenCase(
            name: name, schema: "PullRequest", encode: { PullCodec.encode(request) },
            recode: { PullCodec.encode(try PullCodec.decodeRequest($0)) })
    }

    private static func pullResponse(_ name: String, _ response: PullResponse) -> GoldenCase {
        GoldenCase(
            name: name, schema: "PullResponse", encode: { try PullCodec.encode(response, catalog: Samples.catalog) },
            recode: {
                try PullCodec.encode(
                    PullCodec.decodeResponse($0, catalog: Samples.catalog), catalog: Samples.catalog)
            })
    }

    private static func fetchRequest(_ name: String, _ request: FetchRequest) -> GoldenCase {
        GoldenCase(
            name: name, schema: "FetchRequest", encode: { FetchCodec.encode(request) },
            recode: { FetchCodec.encode(try FetchCodec.decodeRequest($0)) })
    }
}
