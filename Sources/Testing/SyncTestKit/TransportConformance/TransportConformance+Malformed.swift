import SyncCore
import SyncModel
import SyncWire

extension TransportConformance {
    /// Malformed bodies that a correct client never sends. The server must refuse each without any effect.
    var malformedChecks: [Check] {
        [
            Check("a body that is not JSON is refused") { fixture in
                for text in ["", "{", "[]", "null", "<html></html>", "{}}", "\u{FEFF}{}"] {
                    try await fixture.expectRefused(.push, Array(text.utf8), "push of \(text.debugDescription)")
                    try await fixture.expectRefused(.pull, Array(text.utf8), "pull of \(text.debugDescription)")
                    try await fixture.expectRefused(.fetch, Array(text.utf8), "fetch of \(text.debugDescription)")
                }
                try await fixture.expectRefused(.push, [0x22, 0xC3, 0x28, 0x22], "push of bad UTF-8")
            },
            Check("a push that is cut anywhere is refused, and has no effect") { fixture in
                let (client, record, body) = try fixture.push()
                for end in stride(from: 0, to: body.count, by: max(body.count / 16, 1)) {
                    try await fixture.expectRefused(.push, Array(body[..<end]), "push cut after \(end) bytes")
                }
                try await fixture.expectNoEffect(client, record)
            },
            Check("equal keys are refused, at every level") { fixture in
                let (client, record, body) = try fixture.push()
                let text = String(decoding: body, as: UTF8.self)
                for key in ["client", "number", "space", "record"] {
                    guard let range = text.firstRange(of: "\"\(key)\":") else { throw fixture.violation("no \(key)") }
                    let doubled = text.replacingCharacters(in: range, with: "\"\(key)\":0,\"\(key)\":")
                    try await fixture.expectRefused(.push, Array(doubled.utf8), "push with \(key) twice")
                }
                try await fixture.expectNoEffect(client, record)
            },
            Check("a key that the protocol does not have is refused in a request") { fixture in
                let (client, record, body) = try fixture.push()
                let text = String(decoding: body, as: UTF8.self)
                for key in ["owner", "version", "uid", "deletedAt", "serverTime"] {
                    guard let range = text.firstRange(of: "{\"collection\":") else {
                        throw fixture.violation("no mutation")
                    }
                    let more = text.replacingCharacters(in: range, with: "{\"\(key)\":1,\"collection\":")
                    try await fixture.expectRefused(.push, Array(more.utf8), "push with \(key)")
                }
                try await fixture.expectNoEffect(client, record)
            },
            Check("a transaction that does not match its hash has no effect, and nothing is decided about it") {
                fixture in
                guard let exchange = fixture.subject.exchange else { return }
                let (client, record, body) = try fixture.push()
                let text = String(decoding: body, as: UTF8.self)
                guard let range = text.firstRange(of: "\"time\":\"") else { throw fixture.violation("no time") }
                let changed = text.replacingCharacters(in: range, with: "\"time\":\"1")
                let failure = await exchange(.push, Array(changed.utf8))
                try fixture.expect(
                    failure?.code == .serverFailed && failure?.isDefinite == false,
                    "\(failure?.description ?? "a response"), a failure of the server expected, and not definite")
                try await fixture.expectNoEffect(client, record)
            },
            Check("a body that nests without end is refused") { fixture in
                let deep = Array(String(repeating: "[", count: 100_000).utf8)
                try await fixture.expectRefused(.push, deep, "push of 100000 brackets")
            },
            Check("a body that is longer than allowed is too large") { fixture in
                guard let limit = fixture.subject.maximumBodyBytes, let exchange = fixture.subject.exchange else {
                    return
                }
                let failure = await exchange(.push, Array(repeating: UInt8(ascii: " "), count: limit + 1))
                try fixture.expect(
                    failure?.code == .tooLarge && failure?.isDefinite == true,
                    "\(failure?.description ?? "a response"), too large expected, and definite")
            },
        ]
    }

    var tokenChecks: [Check] {
        [
            Check("a request without a valid token is refused") { fixture in
                guard let stranger = fixture.subject.stranger else { return }
                let request = try fixture.request(fixture.makeClient(), [fixture.create(fixture.makeRecord())])
                let failures = [
                    try await fixture.failure("hello") { () throws(TransportError) in try await stranger.hello() },
                    try await fixture.failure("push") { () throws(TransportError) in try await stranger.push(request) },
                    try await fixture.failure("pull") { () throws(TransportError) in
                        try await stranger.pull(PullRequest(space: fixture.subject.space, cursor: nil, limit: 1))
                    },
                    try await fixture.failure("fetch") { () throws(TransportError) in
                        try await stranger.fetch(
                            FetchRequest(
                                space: fixture.subject.space, collection: fixture.subject.collection, key: .uid(UID(0)))
                        )
                    },
                ]
                for failure in failures {
                    try fixture.expect(
                        failure.code == .unauthorized, "\(failure.code): \(failure); expected unauthorized")
                }
                do {
                    for try await _ in stranger.hints(for: [fixture.subject.space]) { break }
                    throw fixture.violation("the stream of hints is open to strangers")
                } catch let failure as TransportError {
                    try fixture.expect(
                        failure.code == .unauthorized, "\(failure.code): \(failure); expected unauthorized")
                }
                try fixture.expect(
                    try await fixture.fetch(request.transactions[0].transaction.mutations[0].record) == nil,
                    "a stranger's push took effect")
            }
        ]
    }

    var accountChecks: [Check] {
        [
            Check("a request for an account other than the token's is refused") { fixture in
                let account = AccountID(rawValue: fixture.hello.account.rawValue + " and someone else")
                let whole = try fixture.request(fixture.makeClient(), [fixture.create(fixture.makeRecord())])
                let request = PushRequest(
                    identity: whole.identity, epoch: whole.epoch, account: account, acknowledged: whole.acknowledged,
                    transactions: whole.transactions)
                let failures = [
                    try await fixture.failure("push") { () throws(TransportError) in
                        try await fixture.transport.push(request)
                    },
                    try await fixture.failure("pull") { () throws(TransportError) in
                        try await fixture.transport.pull(
                            PullRequest(space: fixture.subject.space, cursor: nil, limit: 1, account: account))
                    },
                ]
                for failure in failures {
                    try fixture.expect(
                        failure.code == .otherAccount, "\(failure.code): \(failure); expected otherAccount")
                }
                try fixture.expect(
                    try await fixture.fetch(request.transactions[0].transaction.mutations[0].record) == nil,
                    "a push of another account took effect")
            }
        ]
    }
}

extension TransportFixture {
    /// Returns a valid push of one record, encoded.
    fileprivate func push() throws -> (ClientIdentity, RecordID, [UInt8]) {
        let client = makeClient()
        let record = makeRecord()
        return (client, record, try PushCodec.encode(request(client, [create(record)])))
    }

    fileprivate func expectRefused(_ call: ServerCall, _ body: [UInt8], _ what: String) async throws {
        guard let exchange = subject.exchange else { return }
        let failure = await exchange(call, body)
        try expect(failure?.code == .refused, "\(what): \(failure?.description ?? "answered"); expected refused")
    }

    /// Checks that the record does not exist and that transaction number 0 is still free.
    fileprivate func expectNoEffect(_ client: ClientIdentity, _ record: RecordID) async throws {
        try expect(try await fetch(record) == nil, "a refused push took effect")
        _ = try await apply(client, [create(record)])
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}
