import Dispatch
import Glibc
import SQLiteDatabase
import SyncConcurrency
public import SyncCore
import SyncModel

/// Notifies a store's observers of the commits of other processes, and of their requests for a sync.
///
/// The kernel reports writes to the WAL, and SQLite tells whether another connection has committed. SQLite does not
/// tell which records a commit has changed, so each notification of a commit covers everything. A request is a new time
/// of the lease's file. A slow poll covers file systems that report nothing. If the kernel refuses to report, for
/// example because all inotify instances of the user are taken, a quick poll does the work alone. The notifications are
/// published on the watcher's own queue.
public final class ExternalChangeWatcher: Sendable {
    /// The interval of the poll while the kernel reports nothing. One check reads a page of memory and one file time.
    private static let quickPoll = Duration.seconds(1)

    private let sources: Guarded<Sources>

    private struct Sources {
        var events: (any DispatchSourceRead)?
        var poll: (any DispatchSourceTimer)?
    }

    /// Starts watching. The watcher keeps the store alive until it is stopped.
    ///
    /// - Parameter pollInterval: the interval of the poll. Long, because the poll is only a fallback.
    public convenience init(watching store: SQLiteStore, pollInterval: Duration = .seconds(30)) throws(StoreError) {
        try self.init(watching: store, inotify: Self.inotify(of: store.files.folder), pollInterval: pollInterval)
    }

    /// - Parameter descriptor: an inotify instance that reports the changes in the store's folder, which this watcher
    ///   closes; nil if the kernel gives none.
    package init(watching store: SQLiteStore, inotify descriptor: Int32?, pollInterval: Duration) throws(StoreError) {
        let check: ChangeCheck
        do {
            check = try ChangeCheck(store: store)
        } catch {
            if let descriptor { close(descriptor) }
            throw error
        }

        let queue = DispatchQueue(label: "tombolo.store.watch")
        let names = [store.files.walName, store.files.syncLockName]
        let events = descriptor.map { descriptor in
            let events = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            events.setEventHandler { @Sendable in
                if Self.drain(descriptor, tellsOf: names) { check.again() }
            }
            events.setCancelHandler { @Sendable in close(descriptor) }
            return events
        }
        let poll = DispatchSource.makeTimerSource(queue: queue)
        let pollInterval = events == nil ? min(pollInterval, Self.quickPoll) : pollInterval
        let interval = DispatchTimeInterval.milliseconds(Int(clamping: pollInterval.wholeMilliseconds))
        poll.schedule(
            deadline: .now() + interval, repeating: interval,
            leeway: .milliseconds(Int(clamping: (pollInterval / 4).wholeMilliseconds)))
        poll.setEventHandler { @Sendable in check.again() }
        events?.resume()
        poll.resume()
        sources = Guarded(Sources(events: events, poll: poll))
    }

    /// Returns a new inotify instance that reports the changes in a folder, or nil if the kernel gives none.
    ///
    /// It watches the folder because the WAL is deleted when the last process closes it, and is created again under the
    /// same name.
    private static func inotify(of folder: String) -> Int32? {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        guard inotify_add_watch(descriptor, folder, UInt32(IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_MOVED_TO)) >= 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Stops watching. A check that is in progress may still publish a notification.
    public func stop() {
        sources.withLock { sources in
            // Cancelling does not call the handlers here: they run on the watcher's queue.
            sources.events?.cancel()
            sources.poll?.cancel()
            sources = Sources()
        }
    }

    deinit {
        stop()
    }

    /// Reads all pending inotify events. Returns true if one is about a file with one of the names, or if events were
    /// lost.
    private static func drain(_ descriptor: Int32, tellsOf names: [String]) -> Bool {
        let header = MemoryLayout<inotify_event>.size
        var concerns = false
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                while offset + header <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let end = min(offset + header + Int(event.len), count)
                    let name = String(decoding: buffer[(offset + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
                    if names.contains(name) || event.mask & UInt32(IN_Q_OVERFLOW) != 0 { concerns = true }
                    offset = end
                }
            }
        }
        return concerns
    }
}

/// Compares SQLite's count of foreign commits, and the time of the last request for a sync, with the last ones seen.
private final class ChangeCheck: Sendable {
    private let store: SQLiteStore
    private let last: Guarded<(commits: Int64, request: Int64?)>

    init(store: SQLiteStore) throws(StoreError) {
        self.store = store
        last = Guarded((try store.foreignCommits(), SyncLease.lastRequest(file: store.files.path)))
    }

    func again() {
        // A closed store, or a file that cannot be read now, has no changes to report. The next event checks again.
        guard let commits = try? store.foreignCommits() else { return }
        let request = SyncLease.lastRequest(file: store.files.path)
        let (isNew, requestsSync) = last.withLock { last in
            defer { last = (commits, request) }
            return (last.commits != commits, last.request != request)
        }
        var change = isNew ? StoreChange.everything(in: store.catalog) : StoreChange()
        change.requestsSync = requestsSync
        if !change.isEmpty { store.changes.publish(change) }
    }
}
