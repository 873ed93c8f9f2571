import SyncModel
import SyncWire
import TestRings
import Testing

/// Rules for messages that go beyond their syntax.
@Suite struct MessageRuleTests {
    /// Returns a golden message with one occurrence of a text replaced.
    static func changed(_ name: String, _ old: String, _ new: String) throws -> [UInt8] {
        let text = String(decoding: GoldenTests.withoutSpace(try GoldenTests.example(name)), as: UTF8.self)
        try #require(text.contains(old), "\(name) does not contain \(old)")
        return Array(text.replacing(old, with: new, maxReplacements: 1).utf8)
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        let old: String
        let new: String
        let words: String
        var testDescription: String { "\(name): \(new) for \(old)" }

        init(_ name: String, _ old: String, _ new: String, _ words: String) {
            self.name = name
            self.old = old
            self.new = new
            self.words = words
        }
    }

    static let pullFaults = [
        Fault("pull-response-commits", #""uid":17"#, #""uid":-17"#, "page.commits[0].changes[0].uid: the uid is -17"),
        Fault("pull-response-commits", #""version":13"#, #""version":15"#, "version 14 follows 15"),
        Fault("pull-response-commits", #""version":14,"changes""#, #""version":13,"changes""#, "version 13 follows 13"),
        Fault(
            "pull-response-commits", #""version":14,"head""#, #""version":13,"head""#,
            "version 14 is greater than 13, the version of its page"),
        Fault("pull-response-commits", #""head":20"#, #""head":3"#, "version 14 is beyond the head 3"),
        Fault(
            "pull-response-commits", #""version":13"#, #""version":0"#,
            "the version is 0; expected 1 to 9007199254740991"),
        Fault(
            "pull-response-commits", #""head":20"#, #""head":9007199254740992"#,
            "the version is 9007199254740992; expected 0 to 9007199254740991"),
        Fault("pull-response-commits", #""deleted":true"#, #""deleted":false"#, "expected true"),
        Fault(
            "pull-response-commits", #""deleted":true"#, #""moved":true"#,
            "one of created, updated and deleted is missing"
        ),
        Fault("pull-response-commits", #""uid":17,"#, "", #""uid" is missing"#),
        Fault(
            "pull-response-commits", #""username":"ann""#, #""username":7"#,
            "users.username is text in the models of this device, and the server sent integer"),
        Fault("pull-response-commits", #""hasMore":true,"#, "", #""hasMore" is missing"#),
        Fault(
            "pull-response-commits", #""commits":"#, #""commits":[],"snapshot":"#,
            "expected one of snapshot and commits"),
        Fault("pull-response-snapshot", ",17,12,", ",-17,12,", "rows[0][1]: the uid is -17"),
        Fault("pull-response-snapshot", ",17,12,", ",17,21,", "version 21 is greater than 12, the head of its page"),
        Fault("pull-response-snapshot", "000000000009", "000000000001", "does not come after"),
        Fault("pull-response-snapshot", "[1,12,1,4,4,1,7]", "[1,12,1,4,4,1]", "6 versions for 7 columns"),
        Fault(
            "pull-response-snapshot", "[1,12,1,4,4,1,7]", "[1,13,1,4,4,1,7]",
            "the version of a field is 13; expected 0 to 12"),
        Fault("pull-response-snapshot", #""logins","score""#, #""logins","logins""#, "column logins occurs twice"),
        Fault("pull-response-snapshot", ",3,1.5,false", ",3,1.5", "users.is_active is boolean in the models"),
        Fault(
            "pull-response-snapshot", ",null,null]", ",null]", "expected a row of 11 elements, and this one has fewer"),
        Fault("pull-response-snapshot", ",null,null]", ",null,null,null]", "and this one has more"),
        Fault("pull-response-snapshot", ",3,1.5,false", ",3,1,false", "users.score is real in the models"),
    ]

    @Test(arguments: pullFaults)
    func `an invalid page is refused with the location of the error`(fault: Fault) throws {
        let bytes = try Self.changed(fault.name, fault.old, fault.new)
        let error = #expect(throws: WireError.self) {
            try PullCodec.decodeResponse(bytes, catalog: Samples.catalog)
        }
        #expect(error?.message.contains(fault.words) == true, "\(error?.message ?? "")")
    }

    static let pushFaults = [
        Fault("push-request", #""number":5"#, #""number":6"#, "number 6 follows 4; expected 5"),
        Fault("push-request", #""number":5"#, #""number":4"#, "number 4 follows 4; expected 5"),
        Fault("push-request", #""incarnation":2"#, #""incarnation":-1"#, "the incarnation is -1"),
        Fault("push-request", #""acknowledged":3"#, #""acknowledged":3,"owner":"root""#, #"unknown key "owner""#),
        Fault("push-request", #""acknowledged":3"#, #""acknowledged":3,"acknowledged":4"#, "occurs twice"),
        Fault(
            "push-request", #""number":7,"hash":"d89a"#, #""number":7,"hash":"D89a"#,
            "transactions[1].formerly[0].hash: the hash has other characters than 64 lower-case hexadecimal digits"),
    ]

    @Test(arguments: pushFaults)
    func `an invalid push is refused with the location of the error`(fault: Fault) throws {
        let bytes = try Self.changed(fault.name, fault.old, fault.new)
        let error = #expect(throws: WireError.self) { try PushCodec.decodeRequest(bytes) }
        #expect(error?.code == .malformed)
        #expect(error?.message.contains(fault.words) == true, "\(error?.message ?? "")")
    }

    @Test func `a transaction that was changed in transit is detected by its hash`() throws {
        let bytes = try Self.changed("push-request", #""username":"bo""#, #""username":"bp""#)
        let error = #expect(throws: WireError.self) { try PushCodec.decodeRequest(bytes) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("transaction 5 does not match its hash") == true)
        #expect(error?.message.contains("transactions[1]") == true, "\(error?.message ?? "")")
    }

    @Test(.ring(.test)) func `a request with any byte changed is refused or has the same transactions`() throws {
        let whole = GoldenTests.withoutSpace(try GoldenTests.example("push-request"))
        let meant = try PushCodec.decodeRequest(whole)
        for position in whole.indices {
            var changed = whole
            changed[position] ^= 0x01
            guard let request = try? PushCodec.decodeRequest(changed) else { continue }
            #expect(
                request.transactions.map(\.transaction) == meant.transactions.map(\.transaction),
                "byte \(position) changed a transaction, and nobody noticed")
        }
    }

    @Test func `columns may be in any order, unknown columns are kept, and missing columns are null`() throws {
        let text = """
            {"page":{"space":"default","epoch":"e","serverTime":"1.0","cursor":"c","version":9,"head":9,"hasMore":false,
            "snapshot":{"isFirst":true,"isLast":true,"note":1,"collections":[
              {"collection":"avatars","columns":["color","author","shape"],"rows":[
                ["\(Samples.avatar)",4,9,[9,3,9],"red",{"$ref":"\(Samples.user)"},null]]},
              {"collection":"medals","columns":["metal"],"rows":[["\(Samples.record(7))",0,2,null,"gold"]]}]}}}
            """
        guard
            case .page(let page) = try PullCodec.decodeResponse(Array(text.utf8), catalog: Samples.catalog),
            case .snapshot(let groups, _, _) = page.content
        else {
            Issue.record("no snapshot")
            return
        }
        #expect(
            groups == [
                SnapshotRows(
                    collection: "avatars",
                    records: [
                        Record(
                            id: Samples.avatar, uid: UID(4), version: Version(9),
                            values: [.null, .reference(Samples.user)], fieldVersions: [Version(9), Version(3)],
                            unknown: ["color": .text("red")])
                    ]),
                SnapshotRows(
                    collection: "medals",
                    records: [
                        Record(
                            id: Samples.record(7), uid: UID(0), version: Version(2), values: [],
                            unknown: ["metal": .text("gold")])
                    ]),
            ])
        let again = try PullCodec.encode(.page(page), catalog: Samples.catalog)
        #expect(try PullCodec.decodeResponse(again, catalog: Samples.catalog) == .page(page))
    }

    @Test func `only the last page of a snapshot may be empty`() throws {
        func page(isLast: Bool) throws -> PullResponse {
            let page = PullPage(
                space: .default, epoch: Epoch(rawValue: "e"), serverTime: .zero,
                content: .snapshot([], isFirst: true, isLast: isLast), cursor: Cursor(rawValue: "c"), version: .zero,
                head: .zero, hasMore: true)
            let bytes = try PullCodec.encode(.page(page), catalog: Samples.catalog)
            return try PullCodec.decodeResponse(bytes, catalog: Samples.catalog)
        }
        _ = try page(isLast: true)
        let error = #expect(throws: WireError.self) { try page(isLast: false) }
        #expect(error?.message.contains("has no rows, but is not the last page") == true, "\(error?.message ?? "")")
    }

    @Test func `a result is accepted only for the transaction that was pushed under its number`() throws {
        func decode(_ transaction: NumberedTransaction) throws -> PushResponse {
            let bytes = GoldenTests.withoutSpace(try GoldenTests.example("push-response-answered"))
            let push = Samples.answeredPush
            return try PushCodec.decodeResponse(
                bytes,
                to: PushRequest(
                    identity: push.identity, epoch: push.epoch, acknowledged: push.acknowledged,
                    transactions: [transaction] + push.transactions.dropFirst()))
        }
        _ = try decode(Samples.number(4, Samples.transaction))
        let other = #expect(throws: WireError.self) { try decode(Samples.number(4, Samples.smallTransaction)) }
        #expect(other?.message.contains("the result of number 4 is that of another transaction") == true)
        let late = #expect(throws: WireError.self) { try decode(Samples.number(3, Samples.transaction)) }
        #expect(late?.message.contains("the result is that of number 4; expected 3") == true)
    }

    @Test func `unknown additions of a newer server are ignored, and unknown required values are refused`() throws {
        #expect(
            try PullCodec.decodeResponse(Array(#"{"mustReset":"solar_flare"}"#.utf8), catalog: Samples.catalog)
                == .mustReset(.horizon))
        let hello = try Self.changed("hello-response", #"{"protocol":{"#, #"{"motd":[{}],"protocol":{"minor":7,"#)
        #expect(try HelloCodec.decode(hello) == Samples.hello)
        #expect(throws: WireError.self) {
            try PushCodec.decodeResponse(Array(#"{"refused":{"reason":"too_hot"}}"#.utf8), to: Samples.answeredPush)
        }
        #expect(
            try ErrorBody.decode(Array(#"{"error":{"code":"new","message":"m","help":1}}"#.utf8)).code.rawValue == "new"
        )
    }

    @Test func `a response with another record than the requested one is refused`() throws {
        let request = FetchRequest(space: .default, collection: "avatars", key: .uid(UID(5)))
        let bytes = try GoldenTests.example("fetch-response")
        let error = #expect(throws: WireError.self) {
            try FetchCodec.decodeResponse(bytes, to: request, catalog: Samples.catalog)
        }
        #expect(error?.message.contains("not the one requested") == true)
    }

    @Test(arguments: ["hello-response", "hint"])
    func `a negative number is refused`(name: String) throws {
        let bytes = try Self.changed(name, name == "hint" ? "14" : "1000", "-1")
        #expect(throws: WireError.self) {
            if name == "hint" { _ = try HintCodec.decode(bytes) } else { _ = try HelloCodec.decode(bytes) }
        }
    }
}
