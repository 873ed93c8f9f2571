import SyncModel
import Testing

@Suite struct HybridClockTests {
    @Test func `later readings are greater, even if the wall clock goes back`() {
        var clock = HybridClock()
        var last = HybridTime.zero
        for wall in [1_000, 1_000, 900, 5, 1_001, 1_000, -7, 2_000] as [Int64] {
            let reading = clock.tick(now: WallTime(milliseconds: wall))
            #expect(reading > last)
            last = reading
        }
        #expect(last.wall == WallTime(milliseconds: 2_000))
    }

    @Test func `a reading is greater than any reading observed before it`() {
        var clock = HybridClock()
        let other = HybridTime(wall: WallTime(milliseconds: 5_000), counter: 7)
        clock.observe(other, now: WallTime(milliseconds: 4_990), permitting: .seconds(60))
        #expect(clock.tick(now: WallTime(milliseconds: 4_991)) > other)
    }

    @Test func `a reading from the far future advances the clock only by the permitted skew`() {
        var clock = HybridClock()
        let poison = HybridTime(wall: WallTime(milliseconds: 1_000_000_000))
        clock.observe(poison, now: WallTime(milliseconds: 1_000), permitting: .seconds(60))
        #expect(clock.last.wall == WallTime(milliseconds: 61_000))
    }

    @Test func `the counter overflows into the next millisecond`() {
        var clock = HybridClock(last: HybridTime(wall: WallTime(milliseconds: 10), counter: .max))
        #expect(clock.tick(now: WallTime(milliseconds: 10)) == HybridTime(wall: WallTime(milliseconds: 11)))
    }

    @Test func `wall times outside 48 bits are clamped`() {
        #expect(HybridTime(wall: WallTime(milliseconds: -1)) == .zero)
        #expect(HybridTime(wall: WallTime(milliseconds: .max)).wall == HybridTime.latestWall)
        #expect(HybridTime(rawValue: .max).next == HybridTime(rawValue: .max))
    }

    @Test(arguments: [
        (Duration.seconds(1), Int64(1_000)), (.milliseconds(-1_500), -1_500), (.seconds(Int64.max), .max),
        (.milliseconds(Int64.max), .max), (.milliseconds(Int64.max) + .milliseconds(5), .max),
        (.milliseconds(Int64.min) - .milliseconds(5), .min),
    ])
    func `durations are converted to whole milliseconds without overflow`(duration: Duration, milliseconds: Int64) {
        #expect(duration.wholeMilliseconds == milliseconds)
    }

    @Test func `times are clamped to what can be represented`() {
        let (early, late) = (WallTime(milliseconds: -1), WallTime(milliseconds: 1))
        #expect(early.advanced(by: .milliseconds(Int64.min)).milliseconds == .min)
        #expect(late.advanced(by: .milliseconds(Int64.max)).milliseconds == .max)
        #expect(late.advanced(by: .milliseconds(-3)).milliseconds == -2)
    }

    @Test(
        arguments: [
            // Exact readings replace whatever was known.
            (5_000, 0, nil, 5_000), (5_000, 0, -7, 5_000),
            // A reading with a counter may be up to two minutes late.
            (55_000, 3, 0, 0), (55_000, 3, nil, 55_000), (120_000, 3, 0, 0), (120_001, 3, 0, 120_001), (-1, 3, 0, -1),
        ] as [(Int64, UInt16, Int64?, Int64)])
    func `a reading that others have advanced does not replace the known lead of a clock`(
        ahead: Int64, counter: UInt16, known: Int64?, expected: Int64
    ) {
        let now = WallTime(milliseconds: 1_800_000_000_000)
        let reading = HybridTime(wall: now.advanced(by: .milliseconds(ahead)), counter: counter)
        #expect(reading.lead(over: now, known: known, permitting: .seconds(60)) == expected)
    }
}
