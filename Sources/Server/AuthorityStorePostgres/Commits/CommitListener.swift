import CPostgres
import Dispatch
import Glibc
import SyncAuthority
import SyncConcurrency
public import SyncModel

/// Reports the commits of all servers over one database, with its own connection and thread.
///
/// PostgreSQL sends a notification for each commit. A lost connection loses notifications, so the listener also reads
/// all heads, at the start of each connection and when no notification has arrived for an interval.
public final class CommitListener: Sendable {
    private let configuration: PostgresConfiguration
    private let report: @Sendable ([SpaceID: Version]) -> Void
    private let note: @Sendable (String) -> Void
    private let state = Guarded(State())
    private let ended = DispatchGroup()

    private struct State {
        /// The write end of a pipe. Closing it ends the thread.
        var stopper: Int32?
    }

    /// Creates a listener that does nothing yet.
    ///
    /// - Parameters:
    ///   - report: called on the listener's thread with the newest versions of spaces that have new commits.
    ///   - note: called with a sentence when the connection is lost, and when it works again.
    public init(
        _ configuration: PostgresConfiguration, report: @escaping @Sendable ([SpaceID: Version]) -> Void,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.report = report
        self.note = note
    }

    /// Begins to listen. Must be called once.
    ///
    /// - Throws: when the process may not open more files.
    public func start() throws(CommitListenerError) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw CommitListenerError(reason: String(cString: strerror(errno))) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let (stop, stopper) = (ends[0], ends[1])
        state.withLock { $0.stopper = stopper }
        DispatchQueue(label: "tombolo.commits").async(group: ended) { [self] in
            listen(until: stop)
            close(stop)
        }
    }

    /// Stops, and waits for the end of the thread.
    public func stop() {
        let stopper = state.withLock { state in
            defer { state.stopper = nil }
            return state.stopper
        }
        guard let stopper else { return }
        close(stopper)
        ended.wait()
    }

    /// Listens, and connects again when the connection is lost, until the other end of the pipe is closed.
    private func listen(until stop: Int32) {
        var heads: [SpaceID: Version]?
        var isLost = false
        while true {
            do {
                let connection = try PostgresConnection.toPrimary(configuration)
                try connection.run("LISTEN tombolo_\(configuration.schema)")
                if isLost { note("Notifications of other servers' commits arrive again.") }
                isLost = false
                return try follow(connection, from: &heads, until: stop)
            } catch {
                if !isLost { note("Notifications of other servers' commits do not arrive: \(error)") }
                isLost = true
            }
            if Self.wait(for: [stop], within: .seconds(1)) == stop { return }
        }
    }

    /// Reports new commits until the pipe is closed.
    ///
    /// - Parameter heads: the heads that have been reported; nil before the first read, which reports nothing.
    /// - Throws: when the connection is lost.
    private func follow(
        _ connection: PostgresConnection, from heads: inout [SpaceID: Version]?, until stop: Int32
    ) throws {
        var known = try Self.heads(connection)
        report(changes: known, since: heads)
        heads = known
        while true {
            switch Self.wait(for: [stop, connection.socket], within: PostgresLimits.pollInterval) {
            case stop: return
            case nil:
                // The heads of a database that was restored in place go back.
                known = try Self.heads(connection)
                if try connection.isReadOnly(), try !PostgresConnection.toPrimary(configuration).isReadOnly() {
                    throw PostgresError(.readOnly, "the database takes no writes, and another one does")
                }
            default:
                let before = known
                try Self.addNotifications(of: connection, to: &known)
                // A notification without news may come from a database that was restored in place.
                if known == before { known = try Self.heads(connection) }
            }
            report(changes: known, since: heads)
            heads = known
        }
    }

    private func report(changes new: [SpaceID: Version], since old: [SpaceID: Version]?) {
        guard let old else { return }
        let changes = new.filter { space, head in old[space] != head }
        if !changes.isEmpty { report(changes) }
    }

    /// Returns the heads of all spaces.
    ///
    /// libpq also reads notifications that arrive with the response. The socket is not readable for them afterwards, so
    /// they are in the result.
    static func heads(_ connection: PostgresConnection) throws -> [SpaceID: Version] {
        var heads: [SpaceID: Version] = try connection.query("SELECT name, head FROM space", []) { cursor in
            var heads: [SpaceID: Version] = [:]
            while try cursor.step() {
                if let space = SpaceID(rawValue: cursor.text(0)) { heads[space] = Version(cursor.integer(1)) }
            }
            return heads
        }
        try addNotifications(of: connection, to: &heads)
        return heads
    }

    /// Adds the heads of the notifications that have arrived. Does not wait.
    private static func addNotifications(
        of connection: PostgresConnection, to heads: inout [SpaceID: Version]
    ) throws(PostgresError) {
        for payload in try connection.notifications() {
            let words = payload.split(separator: " ")
            guard words.count == 2, let space = SpaceID(rawValue: String(words[0])), let head = Int64(words[1])
            else { continue }
            heads[space] = max(heads[space] ?? .zero, Version(head))
        }
    }

    /// Waits until one of the descriptors is readable or closed, and returns the first such one; nil after the timeout.
    private static func wait(for descriptors: [Int32], within timeout: Duration) -> Int32? {
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let count = poll(&polled, nfds_t(polled.count), Int32(clamping: timeout.components.seconds * 1_000))
        guard count > 0 else { return nil }
        return polled.first { $0.revents != 0 }?.fd
    }
}

/// The listener could not start.
public struct CommitListenerError: Error, CustomStringConvertible {
    let reason: String

    public var description: String { "the listener for commits of other servers could not start: \(reason)" }
}
