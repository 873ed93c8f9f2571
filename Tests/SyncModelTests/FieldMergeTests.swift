import SyncModel
import Testing

@Suite struct FieldMergeTests {
    private static let clients = [
        ClientID(bits: Identifier128(high: 0, low: 1)), ClientID(bits: Identifier128(high: 0, low: 2)),
    ]
    private static let id = RecordID(bits: Identifier128(high: 9, low: 9))

    struct TestCase: Sendable, CustomTestStringConvertible {
        let rule: MergeRule
        let hasSeen: Bool
        let stored: Contender
        let pushed: Contender

        var testDescription: String {
            "\(rule), stored \(stored.value) at \(stored.stamp.time), pushed \(pushed.value) at \(pushed.stamp.time), "
                + (hasSeen ? "seen" : "unseen")
        }
    }

    static let cases: [TestCase] = MergeRule.allCases.flatMap { rule in
        [true, false].flatMap { hasSeen in
            contenders.flatMap { stored in
                contenders.map { TestCase(rule: rule, hasSeen: hasSeen, stored: stored, pushed: $0) }
            }
        }
    }

    private static let contenders: [Contender] = clients.flatMap { client in
        [1, 2].flatMap { time in
            [1, 2].map { value in
                Contender(
                    value: .integer(value), stamp: Stamp(time: HybridTime(rawValue: time), client: client))
            }
        }
    }

    /// Compares each decision with a naive second implementation of the merge rules.
    @Test(arguments: cases) func `a merge follows its rule, and reports the value that loses`(testCase: TestCase) {
        let (stored, pushed) = (testCase.stored, testCase.pushed)
        let decision = FieldMerge.decide(
            FieldEdit(field: "name", value: pushed.value, before: .integer(0), seen: .zero), pushed: pushed,
            stored: stored, hasSeen: testCase.hasSeen, rule: testCase.rule, collection: "user", record: Self.id)
        let (final, conflict): (Contender, FieldConflict?) =
            switch decision {
            case .take(let contender, let conflict): (contender, conflict)
            case .keep(let conflict): (stored, conflict)
            }
        if testCase.hasSeen {
            #expect(final == pushed)
        } else if stored.value != pushed.value {
            let expected =
                switch testCase.rule {
                case .latestEdit: pushed.stamp > stored.stamp ? pushed : stored
                case .serverWins: stored
                case .clientWins: pushed
                }
            #expect(final == expected)
        } else {
            #expect(final == (pushed.stamp > stored.stamp ? pushed : stored))
        }
        // A conflict occurs exactly if the client has not seen the stored value and pushes a different one.
        #expect((conflict != nil) == (!testCase.hasSeen && stored.value != pushed.value))
        if let conflict {
            #expect(conflict.winner == final && Set([conflict.winner, conflict.loser]) == Set([stored, pushed]))
        }
    }

    @Test func `latestEdit gives the same value for either order of two edits`() {
        for firstTime in 1...3 as ClosedRange<UInt64> {
            for secondTime in 1...3 as ClosedRange<UInt64> {
                let a = Contender(
                    value: .text("a"), stamp: Stamp(time: HybridTime(rawValue: firstTime), client: Self.clients[0]))
                let b = Contender(
                    value: .text("b"), stamp: Stamp(time: HybridTime(rawValue: secondTime), client: Self.clients[1]))
                #expect(Self.valueAfter(a, then: b) == Self.valueAfter(b, then: a))
            }
        }
    }

    private static func valueAfter(_ first: Contender, then second: Contender) -> FieldValue {
        let edit = FieldEdit(field: "name", value: second.value, before: .null, seen: Version(1))
        let decision = FieldMerge.decide(
            edit, pushed: second, stored: first, hasSeen: false, rule: .latestEdit, collection: "user", record: id)
        return
            switch decision
        {
        case .take(let contender, _): contender.value
        case .keep: first.value
        }
    }
}
