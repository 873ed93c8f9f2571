import Dispatch
import Glibc
import SQLiteDatabase
import SyncConcurrency
public import SyncCore
import SyncModel

/// Notifies a store's observers of the commits of other processes.
///
/// The kernel reports writes to the WAL, and SQLite tells whether another connection has committed. A slow poll covers
/// file systems that report nothing. SQLite does not tell which records a commit has changed, so each notification
/// covers everything. The notifications are published on the watcher's own queue.
public final class ExternalChangeWatcher: Sendable {
    private let sources: Guarded<Sources>

    private struct Sources {
        var events: (any DispatchSourceRead)?
        var poll: (any DispatchSourceTimer)?
    }

    /// Starts watching. The watcher keeps the store alive until it is stopped.
    ///
    /// - Parameter pollInterval: the interval of the poll. Long, because the poll is only a fallback.
    public init(watching store: SQLiteStore, pollInterval: Duration = .seconds(30)) throws(StoreError) {
        let folder = store.files.folder
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw StoreError(DatabaseError.file("watch", folder)) }
        // This watches the folder because the WAL is deleted when the last process closes it, and is created again
        // under the same name.
        guard inotify_add_watch(descriptor, folder, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)) >= 0 else {
            let code = errno
            close(descriptor)
            throw StoreError(DatabaseError.file("watch", folder, code))
        }
        let check: ChangeCheck
        do {
            check = ChangeCheck(store: store, last: try store.foreignCommits())
        } catch {
            close(descriptor)
            throw error
        }

        let queue = DispatchQueue(label: "tombolo.store.watch")
        let wal = store.files.walName
        let events = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        events.setEventHandler { @Sendable in
            if Self.drain(descriptor, tellsOf: wal) { check.again() }
        }
        events.setCancelHandler { @Sendable in close(descriptor) }
        let poll = DispatchSource.makeTimerSource(queue: queue)
        let interval = DispatchTimeInterval.milliseconds(Int(clamping: pollInterval.wholeMilliseconds))
        poll.schedule(
            deadline: .now() + interval, repeating: interval,
            leeway: .milliseconds(Int(clamping: (pollInterval / 4).wholeMilliseconds)))
        poll.setEventHandler { @Sendable in check.again() }
        events.resume()
        poll.resume()
        sources = Guarded(Sources(events: events, poll: poll))
    }

    /// Stops watching. A check that is in progress may still publish a notification.
    public func stop() {
        sources.withLock { sources in
            // Canceling does not call the handlers here: they run on the watcher's queue.
            sources.events?.cancel()
            sources.poll?.cancel()
            sources = Sources()
        }
    }

    deinit {
        stop()
    }

    /// Reads all pending inotify events. Returns true if one is about the WAL, or if events were lost.
    private static func drain(_ descriptor: Int32, tellsOf wal: String) -> Bool {
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
                    if name == wal || event.mask & UInt32(IN_Q_OVERFLOW) != 0 { concerns = true }
                    offset = end
                }
            }
        }
        return concerns
    }
}

/// Compares SQLite's count of foreign commits with the last one seen.
private final class ChangeCheck: Sendable {
    private let store: SQLiteStore
    private let last: Guarded<Int64>

    init(store: SQLiteStore, last: Int64) {
        self.store = store
        self.last = Guarded(last)
    }

    func again() {
        // A closed store, or a file that cannot be read now, has no changes to report. The next event checks again.
        guard let count = try? store.foreignCommits() else { return }
        let isNew = last.withLock { last in
            defer { last = count }
            return last != count
        }
        if isNew { store.changes.publish(.everything(in: store.catalog)) }
    }
}
