import Dispatch
import Glibc
import SyncConcurrency
public import SyncCore
import SyncModel

/// Tells a store's observers of what other processes have written to its file.
///
/// The kernel says that the log was written to, and SQLite whether another connection has committed; a slow poll
/// stands behind that, for file systems that tell nothing. News comes on a thread of the watcher's own, until `stop`.
public final class ExternalChangeWatcher: Sendable {
    private let sources: Guarded<Sources>

    private struct Sources {
        var events: (any DispatchSourceRead)?
        var poll: (any DispatchSourceTimer)?
    }

    /// Starts watching. The watcher keeps the store alive until it is stopped.
    ///
    /// - Parameter pollInterval: how often to look although nothing was heard. Long: it fixes what should not happen.
    public init(watching store: SQLiteStore, pollInterval: Duration = .seconds(30)) throws(StoreFailure) {
        let folder = store.files.folder
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw DatabaseFiles.failure("watch", folder) }
        // The folder, not the log: the log goes when the last process closes it, and comes back under the same name.
        guard inotify_add_watch(descriptor, folder, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)) >= 0 else {
            let code = errno
            close(descriptor)
            throw DatabaseFiles.failure("watch", folder, code)
        }
        let look: Look
        do throws(StoreFailure) {
            look = Look(store: store, last: try store.foreignCommits())
        } catch {
            close(descriptor)
            throw error
        }

        let queue = DispatchQueue(label: "tombolo.store.watch")
        let log = store.files.logName
        let events = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        events.setEventHandler { @Sendable in
            if Self.drain(descriptor, tellsOf: log) { look.again() }
        }
        events.setCancelHandler { @Sendable in close(descriptor) }
        let poll = DispatchSource.makeTimerSource(queue: queue)
        let interval = DispatchTimeInterval.milliseconds(Int(clamping: pollInterval.wholeMilliseconds))
        poll.schedule(
            deadline: .now() + interval, repeating: interval,
            leeway: .milliseconds(Int(clamping: (pollInterval / 4).wholeMilliseconds)))
        poll.setEventHandler { @Sendable in look.again() }
        events.resume()
        poll.resume()
        sources = Guarded(Sources(events: events, poll: poll))
    }

    /// Ends the watching; a look that is under way is finished first or finds nothing to tell.
    public func stop() {
        sources.withLock { sources in
            // Cancelling calls nobody back here: the handlers run on the watcher's queue.
            sources.events?.cancel()
            sources.poll?.cancel()
            sources = Sources()
        }
    }

    deinit {
        stop()
    }

    /// Empties the queue of the kernel's events; true when one of them is about the log, or when some were lost.
    private static func drain(_ descriptor: Int32, tellsOf log: String) -> Bool {
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
                    if name == log || event.mask & UInt32(IN_Q_OVERFLOW) != 0 { concerns = true }
                    offset = end
                }
            }
        }
        return concerns
    }
}

/// Compares SQLite's count of foreign commits with the last one seen.
private final class Look: Sendable {
    private let store: SQLiteStore
    private let last: Guarded<Int64>

    init(store: SQLiteStore, last: Int64) {
        self.store = store
        self.last = Guarded(last)
    }

    func again() {
        // A store that was closed, or a file that cannot be read now, has no news; the next event asks again.
        guard let count = try? store.foreignCommits() else { return }
        let isNew = last.withLock { last in
            defer { last = count }
            return last != count
        }
        if isNew { store.changes.publish(.everything(in: store.catalog)) }
    }
}
