import SyncModel
import Testing

@Suite struct FieldMergeTests {
    private static let clients = [
        ClientID(bits: Identifier128(high: 0, low: 1)), ClientID(bits: Identifier128(high: 0, low: 2)),
    ]
    private static let id = RecordID(bits: Identifier128(high: 9, low: 9))

    /// Every small case against the words of the design, written down a second time and more naively.
    @Test func `every small case gives what the design says`() {
        var cases = 0
        for rule in MergeRule.allCases {
            for storedVersion in 1...2 as ClosedRange<Int64> {
                for seen in 0...2 as ClosedRange<Int64> {
                    for storedClient in Self.clients {
                        for pushedClient in Self.clients {
                            for storedTime in 1...2 as ClosedRange<UInt64> {
                                for pushedTime in 1...2 as ClosedRange<UInt64> {
                                    for storedValue in 1...2 as ClosedRange<Int64> {
                                        for pushedValue in 1...2 as ClosedRange<Int64> {
                                            cases += 1
                                            check(
                                                rule, Version(storedVersion), Version(seen),
                                                Contender(
                                                    value: .integer(storedValue),
                                                    stamp: Stamp(
                                                        time: HybridTime(rawValue: storedTime), client: storedClient)),
                                                Contender(
                                                    value: .integer(pushedValue),
                                                    stamp: Stamp(
                                                        time: HybridTime(rawValue: pushedTime), client: pushedClient)))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        #expect(cases == 3 * 2 * 3 * 4 * 4 * 4)
    }

    private func check(
        _ rule: MergeRule, _ storedVersion: Version, _ seen: Version, _ stored: Contender, _ pushed: Contender
    ) {
        let edit = FieldEdit(field: "name", value: pushed.value, before: .integer(0), seen: seen)
        let decision = FieldMerge.decide(
            edit: edit, stamp: pushed.stamp, claimed: pushed.stamp.time, stored: stored, storedVersion: storedVersion,
            rule: rule,
            collection: "user",
            record: Self.id)
        let (final, conflict): (Contender, FieldConflict?) =
            switch decision {
            case .take(let contender, let conflict): (contender, conflict)
            case .keep(let conflict): (stored, conflict)
            }
        let place = "\(rule) stored \(stored) at \(storedVersion), pushed \(pushed) seen \(seen): \(decision)"

        let isOwn = stored.stamp.client == pushed.stamp.client
        let isConcurrent = !isOwn && storedVersion > seen
        if isOwn {
            #expect(final.stamp == max(stored.stamp, pushed.stamp), "\(place)")
        } else if !isConcurrent {
            #expect(final == pushed, "\(place)")
        } else if stored.value != pushed.value {
            let expected =
                switch rule {
                case .latestEdit: pushed.stamp > stored.stamp ? pushed : stored
                case .serverWins: stored
                case .clientWins: pushed
                }
            #expect(final == expected, "\(place)")
        }
        // A conflict exactly when one of two different values had to give way; and the loser is in it.
        #expect((conflict != nil) == (isConcurrent && stored.value != pushed.value), "\(place)")
        if let conflict {
            #expect(
                conflict.winner == final && Set([conflict.winner, conflict.loser]) == Set([stored, pushed]), "\(place)")
        }
    }

    @Test func `latestEdit gives the same value in whichever order two edits arrive`() {
        for firstTime in 1...3 as ClosedRange<UInt64> {
            for secondTime in 1...3 as ClosedRange<UInt64> {
                let a = Contender(
                    value: .text("a"), stamp: Stamp(time: HybridTime(rawValue: firstTime), client: Self.clients[0]))
                let b = Contender(
                    value: .text("b"), stamp: Stamp(time: HybridTime(rawValue: secondTime), client: Self.clients[1]))
                #expect(Self.arriving(a, then: b) == Self.arriving(b, then: a))
            }
        }
    }

    private static func arriving(_ first: Contender, then second: Contender) -> FieldValue {
        let edit = FieldEdit(field: "name", value: second.value, before: .null, seen: Version(1))
        return
            switch FieldMerge.decide(
                edit: edit, stamp: second.stamp, claimed: second.stamp.time, stored: first, storedVersion: Version(2),
                rule: .latestEdit,
                collection: "user",
                record: id)
        {
        case .take(let contender, _): contender.value
        case .keep: first.value
        }
    }
}
