import TestRings
import Testing

@testable import SyncModel

@Suite struct ReferenceGroupsTests {
    @Test(
        arguments: [
            ([], []), ([[]], [[0]]), ([[1], []], [[1], [0]]), ([[0]], [[0]]), ([[1], [0]], [[0, 1]]),
            ([[1], [2], [1]], [[1, 2], [0]]), ([[], [0], [0, 1]], [[0], [1], [2]]), ([[7], [-1]], [[0], [1]]),
        ] as [([[Int]], [[Int]])])
    func `records that refer to each other form one group, after the groups that they refer to`(
        references: [[Int]], expected: [[Int]]
    ) {
        #expect(ReferenceGroups.of(references) == expected)
    }

    /// Checks the groups of every graph with four nodes: two nodes share a group exactly if each can be reached from
    /// the other, and a group comes after the groups that it refers to.
    @Test(.ring(.test)) func `every small graph is grouped according to the definition`() {
        let count = 4
        for bits in 0..<(1 << (count * count)) {
            let references = (0..<count).map { place in (0..<count).filter { bits >> (place * count + $0) & 1 == 1 } }
            let groups = ReferenceGroups.of(references)
            let reach = Self.reach(references)
            let order = Dictionary(groups.enumerated().flatMap { group in group.element.map { ($0, group.offset) } }) {
                _, last in last
            }
            guard groups.flatMap({ $0 }).sorted() == Array(0..<count) else {
                Issue.record("\(references) has the groups \(groups)")
                continue
            }
            for one in 0..<count {
                for other in 0..<count where one != other {
                    let isCircle = reach[one][other] && reach[other][one]
                    if isCircle != (order[one] == order[other])
                        || (references[one].contains(other) && (order[one] ?? 0) < (order[other] ?? 0))
                    {
                        Issue.record("\(references) has the groups \(groups)")
                    }
                }
            }
        }
    }

    @Test func `a long chain does not overflow the stack`() {
        let count = 200_000
        let groups = ReferenceGroups.of((0..<count).map { $0 + 1 < count ? [$0 + 1] : [] })
        #expect(groups.count == count)
        #expect(groups.first == [count - 1])
    }

    private static func reach(_ references: [[Int]]) -> [[Bool]] {
        var reach = references.indices.map { one in references.indices.map { references[one].contains($0) } }
        for middle in references.indices {
            for one in references.indices {
                for other in references.indices where reach[one][middle] && reach[middle][other] {
                    reach[one][other] = true
                }
            }
        }
        return reach
    }
}
