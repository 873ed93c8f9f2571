import SyncModel
import SyncProgram
import TestRings
import Testing

@testable import SyncCore
@testable import syncctl

@Suite(.ring(.unit)) struct SyncFollowerTests {
    private static func status(_ outbox: OutboxSummary, hasCaughtUp: Bool = true) -> SyncStatus {
        SyncStatus(
            connection: .online, push: .idle,
            spaces: [
                SyncStatus.Space(
                    space: .default, pull: .idle, version: Version(3), head: Version(3), isComplete: true,
                    hasCaughtUp: hasCaughtUp, hasAccess: true, historyIsInDoubt: false, noticesWait: false)
            ], outbox: outbox)
    }

    private static func ending(_ status: SyncStatus, timeout: Duration = .seconds(10)) -> String? {
        let terminal = Terminal(isJSON: true, variables: [:])
        var follower = SyncFollower(isWatching: false, timeout: timeout, terminal: terminal)
        return follower.follow(status, Progress(terminal, uptime: { .zero })).map { "\($0)" }
    }

    @Test func `a sync without progress reports what the server has not sent`() {
        let one = Self.ending(Self.status(OutboxSummary(answered: 1)), timeout: .zero)
        #expect(
            one?.contains("the server has confirmed 1 transaction and does not show it yet") == true, "\(one ?? "")")
        var status = Self.status(OutboxSummary())
        status.spaces[0].head = Version(9)
        let none = Self.ending(status, timeout: .zero)
        #expect(
            none?.contains(
                "the server says that space default is at version 9, but sends nothing after version 3") == true,
            "\(none ?? "")")
    }

    @Test func `a refused transaction ends a sync only if more tries do not decide about it`() {
        var status = Self.status(OutboxSummary(waiting: 2))
        status.push = .recovering("the server refuses to take it", retryIn: .seconds(1))
        #expect(Self.ending(status, timeout: .zero) == nil)
        status.push = .waiting("the server refuses to take it", retryIn: .seconds(1))
        #expect(Self.ending(status, timeout: .zero)?.contains("the server refuses to take it") == true)
    }

    @Test func `a contradiction ends a sync only if a fresh snapshot does not help`() {
        var status = Self.status(OutboxSummary(), hasCaughtUp: false)
        status.spaces[0].pull = .recovering("version 2 changes a record of version 9", retryIn: .seconds(1))
        #expect(Self.ending(status, timeout: .zero) == nil)
        status.spaces[0].pull = .waiting("version 2 changes a record of version 9", retryIn: .seconds(1))
        #expect(Self.ending(status, timeout: .zero)?.contains("version 2 changes a record of version 9") == true)
    }

    /// Regression test: while a pull failed, each sync sent the same batch again and ended before the response.
    @Test func `an obstacle of a pull ends a sync only when the outbox has been sent`() {
        let full = StoreError(.diskFull, "the database has reached its limit")
        let unusable = StoreError(.otherSchema, "the server has another type of a field")
        for failure in [nil, full, unusable] {
            var status = Self.status(OutboxSummary(waiting: 6), hasCaughtUp: false)
            status.spaces[0].pull = .waiting(failure?.message ?? "the history is in doubt", retryIn: .seconds(1))
            status.storeFailure = failure
            for activity in [.working, .recovering("the server refuses it", retryIn: .seconds(1))]
                as [SyncStatus.Activity]
            {
                status.push = activity
                #expect(Self.ending(status, timeout: .zero) == nil)
            }
            status.push = .idle
            #expect(Self.ending(status, timeout: .zero)?.contains(status.spaces[0].pull.obstacle ?? "") == true)
        }
    }

    @Test func `a late response ends a sync only if asking for less does not help`() {
        let late = TransportError(.timedOut, "the server did not respond to a pull within 30.0 seconds")
        var status = Self.status(OutboxSummary(), hasCaughtUp: false)
        status.connection = .recovering(late, retryIn: .seconds(1))
        #expect(Self.ending(status, timeout: .zero) == nil)
        status.connection = .waiting(late, retryIn: .seconds(1))
        #expect(Self.ending(status, timeout: .zero)?.contains("did not respond to a pull") == true)
    }

    @Test func `a pause that the server asked for is shown with its end, and not as offline`() {
        var status = Self.status(OutboxSummary(), hasCaughtUp: false)
        let busy = TransportError(.throttled, "too many requests", retryAfter: .seconds(60))
        status.connection = .paused(busy, retryIn: .seconds(60))
        status.isPaused = true
        #expect(StatusText.connection(status) == "the server asked for a pause: too many requests")
        status.pausedUntil = WallTime(milliseconds: 60_000)
        #expect(
            StatusText.sentence(status).hasPrefix(
                "the server asked for a pause until 1970-01-01T00:01:00Z: too many requests; "))
        #expect(StatusText.line(status).text.contains(#""connection":"paused","reason":"too many requests""#))
        #expect(StatusText.line(status).text.contains(#""paused_until":"1970-01-01T00:01:00Z""#))
        #expect(Self.ending(status) == nil)
        #expect(Self.ending(status, timeout: .zero)?.contains("too many requests") == true)
        status.connection = .online
        #expect(StatusText.sentence(status).contains("the server asked for a pause until 1970-01-01T00:01:00Z"))
    }

    @Test func `a failure of the local database is shown as one`() {
        let full = StoreError(.diskFull, "the disk is full")
        var status = Self.status(OutboxSummary(), hasCaughtUp: false)
        status.connection = .storeFailed(full, retryIn: .seconds(1))
        status.storeFailure = full
        #expect(StatusText.connection(status) == "the local database failed: the disk is full")
        #expect(StatusText.word(status.connection) == "store_failed")
        #expect(Self.ending(status) == nil)
        #expect(Self.ending(status, timeout: .zero)?.hasPrefix("storeFailed(") == true)
        let noted = SyncEnding.storeFailed(full).failure
        let failure = ServerContact.Failure(
            code: noted?.code ?? "", message: noted?.message ?? "", at: WallTime(milliseconds: 0))
        #expect(failure.code == "store.diskFull" && failure.storeError == full)
        #expect(failure.statusMessage == "the local database failed: the disk is full")
    }

    /// Returns the ending of a watch that is stopped after these statuses.
    private static func stop(after statuses: [SyncStatus]) -> String {
        let terminal = Terminal(isJSON: true, variables: [:])
        var follower = SyncFollower(isWatching: true, timeout: .zero, terminal: terminal)
        for status in statuses { follower.noteObstacle(in: status) }
        return "\(follower.endingOfStop)"
    }

    @Test func `a watch that is stopped ends with what was in the way since it was in sync`() {
        let inSync = Self.status(OutboxSummary())
        var busy = Self.status(OutboxSummary(waiting: 1), hasCaughtUp: false)
        busy.push = .working
        var braked = busy
        braked.spaces[0].pull = .braked(deletes: 40, of: 60)
        var blocked = busy
        blocked.spaces[0].pull = .waiting("the history is in doubt", retryIn: .seconds(1))
        var offline = busy
        offline.connection = .offline("no link is up")
        var stopped = inSync
        stopped.connection = .stopped
        #expect(Self.stop(after: []) == "stopped")
        #expect(Self.stop(after: [inSync, stopped]) == "stopped")
        #expect(Self.stop(after: [inSync, busy]) == "stopped")
        #expect(Self.stop(after: [inSync, braked]).contains("deletes: 40, total: 60"))
        #expect(Self.stop(after: [braked, stopped]).contains("deletes: 40, total: 60"))
        #expect(Self.stop(after: [braked, busy, stopped]).contains("deletes: 40, total: 60"))
        #expect(Self.stop(after: [braked, inSync, stopped]) == "stopped")
        #expect(Self.stop(after: [blocked]).hasPrefix("blocked(\"the history is in doubt"))
        #expect(Self.stop(after: [offline, stopped]).hasPrefix("offline("))
        #expect(Self.stop(after: [Self.status(OutboxSummary(waiting: 2, held: 2))]) == "held")
    }

    @Test func `a sync that would delete records ends when everything else is done`() {
        var status = Self.status(OutboxSummary(sent: 1))
        status.spaces.append(status.spaces[0])
        status.spaces[0].pull = .braked(deletes: 40, of: 60)
        let braked = "deletes: 40, total: 60"
        #expect(Self.ending(status, timeout: .zero)?.contains(braked) == true)
        var both = status
        both.spaces[1].pull = .braked(deletes: 5, of: 5)
        #expect(Self.ending(both, timeout: .zero)?.contains("deletes: 5, total: 5") == true)
        status.push = .working
        #expect(Self.ending(status, timeout: .zero) == nil)
        status.push = .idle
        status.spaces[1].pull = .working
        #expect(Self.ending(status) == nil)
        status.spaces[1].pull = .waiting("the server is busy", retryIn: .seconds(1))
        #expect(Self.ending(status) == nil)
        #expect(Self.ending(status, timeout: .zero)?.contains(braked) == true)
    }

    @Test func `a sync ends when only writes for a newer server are left`() {
        #expect(Self.ending(Self.status(OutboxSummary())) == "inSync")
        #expect(Self.ending(Self.status(OutboxSummary(waiting: 2, held: 2))) == "held")
        #expect(Self.ending(Self.status(OutboxSummary(waiting: 3, held: 2))) == nil)
        #expect(Self.ending(Self.status(OutboxSummary(waiting: 2, held: 2, answered: 1))) == nil)
        #expect(Self.ending(Self.status(OutboxSummary(waiting: 2, held: 2), hasCaughtUp: false)) == nil)
    }
}
