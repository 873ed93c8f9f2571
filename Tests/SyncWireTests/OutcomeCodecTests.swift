import SyncModel
import SyncWire
import Testing

@Suite struct OutcomeCodecTests {
    @Test(arguments: Samples.outcomes.indices)
    func `an outcome is unchanged after encoding and decoding`(index: Int) throws {
        let outcome = Samples.outcomes[index]
        #expect(try OutcomeCodec.decode(OutcomeCodec.encode(outcome)) == outcome)
    }

    @Test func `additions of a newer server to an outcome are ignored`() throws {
        let text = #"{"applied":{"version":1,"merge":{"a":[1]},"uids":[]},"trace":"x"}"#
        #expect(try OutcomeCodec.decode(Array(text.utf8)) == .applied(version: Version(1), uids: [], conflicts: []))
    }

    @Test func `an unknown merge rule is kept by name`() throws {
        let bytes = try OutcomeCodec.encode(Samples.outcomes[1])
        let text = String(decoding: bytes, as: UTF8.self).replacing("latestEdit", with: "union")
        guard case .applied(_, _, let conflicts) = try OutcomeCodec.decode(Array(text.utf8)) else {
            Issue.record("not applied")
            return
        }
        #expect(conflicts.map(\.rule) == [ConflictRule(rawValue: "union")])
    }

    @Test(arguments: ["x", "é", "漢", "🌳"])
    func `a shortened rejection can be read, and ends with a whole character`(character: String) throws {
        let long = Rejection(
            code: RejectionCode(rawValue: "c" + String(repeating: character, count: 1_024)),
            message: "m" + String(repeating: character, count: 16 * 1_024), mutation: -1,
            fields: Array(repeating: "title", count: 1_025))
        #expect(throws: WireError.self) { try OutcomeCodec.decode(OutcomeCodec.encode(.rejected(long))) }
        let shortened = long.shortened
        #expect(try OutcomeCodec.decode(OutcomeCodec.encode(.rejected(shortened))) == .rejected(shortened))
        #expect(long.message.hasPrefix(shortened.message) && shortened.message.utf8.count > 16 * 1_024 - 4)
        #expect(shortened.shortened == shortened)
    }

    @Test(arguments: [
        (#"{}"#, "one of applied and rejected is missing"),
        (#"{"postponed":{}}"#, "one of applied and rejected is missing"),
        (#"{"applied":{}}"#, #""version" is missing"#),
        (
            #"{"applied":{"version":1,"uids":[{"collection":"users","record":"01935a1b-2c3d-7000-8000-000000000001","uid":-3}]}}"#,
            "the uid is -3; expected 0 or more"
        ),
        (#"{"applied":{"version":1},"rejected":{"code":"x","message":""}}"#, "expected one of applied and rejected"),
        (#"{"rejected":{"code":"x","message":"","mutation":-1}}"#, "the mutation's position is -1"),
    ])
    func `an invalid outcome is refused with the expected form`(text: String, words: String) {
        let error = #expect(throws: WireError.self) { try OutcomeCodec.decode(Array(text.utf8)) }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
}
