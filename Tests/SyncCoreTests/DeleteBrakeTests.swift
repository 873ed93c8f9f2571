import SyncCore
import TestRings
import Testing

/// The rule in the manual of `syncctl`: a device with more than 50 records asks before it deletes over 30% of them.
@Suite(.ring(.unit)) struct DeleteBrakeTests {
    @Test(arguments: [
        (deletes: 40, total: 101, asks: true), (deletes: 31, total: 101, asks: true),
        (deletes: 30, total: 101, asks: false), (deletes: 16, total: 51, asks: true),
        (deletes: 15, total: 51, asks: false), (deletes: 51, total: 51, asks: true),
        (deletes: 50, total: 50, asks: false), (deletes: 3_000, total: 10_000, asks: false),
        (deletes: 3_001, total: 10_000, asks: true), (deletes: 0, total: 0, asks: false),
    ])
    func `a device asks before it deletes more records than the manual allows`(deletes: Int, total: Int, asks: Bool)
        throws
    {
        let brake = try #require(SyncPolicy().deleteBrake)
        #expect(brake.stops(deleting: deletes, of: total) == asks)
    }
}
