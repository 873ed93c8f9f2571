import SyncModel
import Testing

@Suite struct TransactionPackerTests {
    private static func deletions(_ count: Int) -> [Mutation] {
        let id = RecordID(bits: Identifier128(high: 0x018B_CFE5_6800_7000, low: 0x8000_0000_0000_0000))
        return Array(
            repeating: Mutation(collection: "users", record: id, time: .zero, intent: .delete(seen: .zero)),
            count: count)
    }

    private static func packed(_ groups: [[Mutation]]) -> [[Mutation]] {
        var packer = TransactionPacker(space: .default)
        var packed = groups.compactMap { packer.add($0)?.mutations }
        if let rest = packer.take() { packed.append(rest.mutations) }
        #expect(packer.take() == nil)
        return packed
    }

    @Test(
        arguments: [
            ([], []), ([0], []), ([1], [1]), ([1, 2], [3]),
            ([SchemaLimits.mutationsPerTransaction], [SchemaLimits.mutationsPerTransaction]),
            ([SchemaLimits.mutationsPerTransaction - 1, 1, 1], [SchemaLimits.mutationsPerTransaction, 1]),
            ([1, SchemaLimits.mutationsPerTransaction], [1, SchemaLimits.mutationsPerTransaction]),
            // A group is not split, even if it exceeds the limit.
            ([1, SchemaLimits.mutationsPerTransaction + 1, 1], [1, SchemaLimits.mutationsPerTransaction + 1, 1]),
        ] as [([Int], [Int])])
    func `groups are packed up to the limit of mutations`(groups: [Int], expected: [Int]) {
        #expect(Self.packed(groups.map(Self.deletions)).map(\.count) == expected)
    }

    @Test func `groups are packed up to the limit of bytes`() {
        let id = RecordID(bits: Identifier128(high: 0x018B_CFE5_6800_7000, low: 0x8000_0000_0000_0000))
        let text = String(repeating: "x", count: SchemaLimits.transactionBytes / 3)
        let large = Mutation(collection: "users", record: id, time: .zero, intent: .create(["name": .text(text)]))
        let packed = Self.packed(Array(repeating: [large], count: 5))
        #expect(packed.map(\.count) == [2, 2, 1])
        #expect(
            packed.allSatisfy { Transaction(space: .default, mutations: $0).byteCount <= SchemaLimits.transactionBytes }
        )
    }
}
