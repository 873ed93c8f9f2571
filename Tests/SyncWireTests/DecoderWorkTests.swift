import Glibc
import SyncJSON
import SyncModel
import SyncWire
import TestRings
import Testing

/// Decoders work in linear time: ten times the input takes about ten times the work, whatever its shape. With a
/// quadratic step, it would take a hundred times the work.
@Suite(.ring(.check), .serialized) struct DecoderWorkTests {
    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let size: Int
        let input: @Sendable (Int) throws -> [UInt8]
        let decode: @Sendable ([UInt8]) throws -> Void
    }

    private static func json(_ name: String, _ size: Int, _ input: @Sendable @escaping (Int) -> String) -> Shape {
        Shape(
            testDescription: name, size: size, input: { Array(input($0).utf8) }, decode: { _ = try JSONValue($0) })
    }

    private static func transaction(_ mutations: Int, _ first: Int = 0) -> Transaction {
        Transaction(
            space: .default,
            mutations: (0..<mutations).map { index in
                Mutation(
                    collection: "users",
                    record: RecordID(bits: Identifier128(high: 7, low: UInt64(first + index))), time: Samples.time,
                    intent: .create(["username": .text("user \(index)"), "score": .real(Double(index))]))
            })
    }

    private static func push(_ transactions: [Transaction]) throws -> [UInt8] {
        var number = TransactionNumber.first
        return try PushCodec.encode(
            PushRequest(
                identity: ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 2)), incarnation: 0),
                epoch: nil, acknowledged: .first,
                transactions: try transactions.map { transaction in
                    defer { number = number.next }
                    return NumberedTransaction(
                        number: number, hash: try PayloadHash(of: transaction), transaction: transaction)
                }))
    }

    static let shapes: [Shape] = [
        json("an array of numbers", 20_000) { "[" + Array(repeating: "1.5", count: $0).joined(separator: ",") + "]" },
        json("keys of one object", 5_000) { count in
            "{" + (0..<count).map { "\"key\($0)\":1" }.joined(separator: ",") + "}"
        },
        json("long keys that differ at their ends", 300) { count in
            let start = String(repeating: "k", count: 500)
            return "{" + (0..<count).map { "\"\(start)\($0)\":1" }.joined(separator: ",") + "}"
        },
        json("escapes in one string", 20_000) { "\"" + String(repeating: "\\u00e9\\n", count: $0) + "\"" },
        json("many strings", 10_000) { "[" + Array(repeating: "\"añb\"", count: $0).joined(separator: ",") + "]" },
        json("white space", 100_000) { String(repeating: " ", count: $0) + "1" },
        json("digits of one number", 5_000) { "0." + String(repeating: "7", count: $0) },
        json("many nested objects", 1_000) { count in
            "[" + Array(repeating: #"{"a":{"b":{"c":[[[1]]]}}}"#, count: count).joined(separator: ",") + "]"
        },
        Shape(
            testDescription: "transactions of a push", size: 100,
            input: { count in try push((0..<count).map { transaction(1, $0) }) },
            decode: { _ = try PushCodec.decodeRequest($0) }),
        Shape(
            testDescription: "mutations of a transaction", size: 100, input: { try push([transaction($0)]) },
            decode: { _ = try PushCodec.decodeRequest($0) }),
        Shape(
            testDescription: "changes of a commit", size: 500,
            input: { count in
                try ChangesCodec.encode(
                    (0..<count).map { index in
                        RecordChange(
                            collection: "users", id: RecordID(bits: Identifier128(high: 7, low: UInt64(index))),
                            effect: .updated(["username": .text("user \(index)")]))
                    })
            }, decode: { _ = try ChangesCodec.decode($0) }),
    ]

    @Test(arguments: shapes)
    func `S16: ten times the input costs a decoder about ten times the work`(shape: Shape) throws {
        let (small, large) = (try shape.input(shape.size), try shape.input(shape.size * 10))
        // This takes the least of several measurements, because other work on the machine can only increase them.
        func cost(_ bytes: [UInt8]) throws -> Double {
            var least = Double.infinity
            for _ in 0..<5 {
                let start = Self.processorTime()
                try shape.decode(bytes)
                least = min(least, Self.processorTime() - start)
            }
            return least
        }
        _ = try cost(small)
        let ratio = try cost(large) / max(cost(small), 1e-6)
        #expect(ratio < 40, "\(shape.testDescription): \(ratio) times the work")
    }

    /// Returns the processor time of this thread in seconds.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
