import SyncModel
import SyncWire
import Testing

/// Negative zero is read as zero. SQLite does not keep the sign of a zero, so a server that kept it would have a
/// different value than its devices.
@Suite struct NegativeZeroTests {
    private static let zeros = ["-0.0", "-0e5", "-0.000", "-0E-3", "0.0", "0e0", "-0.0e-400"]

    @Test(arguments: zeros)
    func `S39: each spelling of zero is read as the same value`(text: String) throws {
        let patch = try PatchCodec.decode(Array(#"{"score":\#(text)}"#.utf8))
        #expect(patch == ["score": .real(0)])
        #expect(String(decoding: try PatchCodec.encode(patch), as: UTF8.self) == #"{"score":0.0}"#)
    }

    @Test func `S39: a transaction with negative zero has the hash and the values of one with zero`() throws {
        func transaction(_ zero: Double) -> Transaction {
            Transaction(
                space: .default,
                mutations: [
                    Mutation(
                        collection: "users", record: Samples.user, time: Samples.time,
                        intent: .create(["score": .real(zero)])),
                    Mutation(
                        collection: "users", record: Samples.user, time: Samples.time,
                        intent: .update([
                            FieldEdit(field: "score", value: .real(zero), before: .real(zero), seen: Version(1))
                        ])),
                ])
        }
        #expect(transaction(-0.0) == transaction(0))
        let bytes = try TransactionCodec.encode(transaction(0))
        let text = String(decoding: bytes, as: UTF8.self)
        let other = try TransactionCodec.decode(Array(text.replacing("0.0,", with: "-0.0,").utf8))
        #expect(text.contains(":0.0,") && other == transaction(0))
        #expect(try PayloadHash(of: other) == PayloadHash(of: transaction(0)))
    }

    @Test func `each number that is not negative zero is unchanged after encoding and decoding`() throws {
        var state: UInt64 = 7
        for round in 0..<5_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let special: [Double] = [
                0, -0.0, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .greatestFiniteMagnitude,
            ]
            let number = round < special.count ? special[round] : Double(bitPattern: state)
            guard number.isFinite else { continue }
            let read = try PatchCodec.decode(PatchCodec.encode(["score": .real(number)]))["score"]
            #expect(read == .real(number == 0 ? 0 : number), "\(number)")
        }
    }
}
