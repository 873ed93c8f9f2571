import SyncModel
import Testing

@testable import SyncObjects

/// The objects of a list that count as moved when the list is reordered.
@Suite struct DisplacedTests {
    private static func permutations(_ ids: [RecordID]) -> [[RecordID]] {
        guard !ids.isEmpty else { return [[]] }
        return ids.indices.flatMap { index -> [[RecordID]] in
            var others = ids
            let first = others.remove(at: index)
            return permutations(others).map { [first] + $0 }
        }
    }

    private static let ids = (0..<6 as Range<UInt64>).map { RecordID(bits: Identifier128(high: 0, low: $0)) }

    @Test func `the others keep their order, and as few objects have moved as a difference of the lists has`() {
        for list in Self.permutations(Self.ids) {
            let displaced = list.displaced(from: Self.ids)
            #expect(list.filter { !displaced.contains($0) } == Self.ids.filter { !displaced.contains($0) })
            #expect(displaced.count == list.difference(from: Self.ids).insertions.count)
        }
    }

    @Test func `of two objects that are swapped, the former first one has moved`() {
        #expect([Self.ids[1], Self.ids[0]].displaced(from: [Self.ids[0], Self.ids[1]]) == [Self.ids[0]])
        #expect([RecordID]().displaced(from: []).isEmpty)
    }
}
