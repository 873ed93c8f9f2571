import SyncConcurrency

/// The value that a file contains, which is read again when the file has changed.
///
/// If the changed file is invalid, the earlier value stays; if it is missing, the value is empty. If the system cannot
/// read it, the earlier value stays, and each call tries again. Each event is reported once, however many callers there
/// are.
final class WatchedFile<Stamp: Equatable & Sendable, Value: Sendable>: Sendable {
    /// An event to report.
    enum Event {
        case missing
        case readAgain(Value)
        /// The file is unusable, so the previous value stays in effect.
        case kept(Value, TrustedFileError)
    }

    private struct State {
        /// The stamp of the file when it was last read or found missing.
        var stamp: Stamp?
        var value: Value
        /// Counts the changes of the value.
        var version = 0
        /// Whether reading the file with this stamp failed with a transient error, so that the next call tries again.
        var mustReadAgain = false
        /// Whether the file with this stamp could not be used.
        var isStale = false
    }

    private let empty: Value
    private let stamp: @Sendable () -> Stamp?
    private let read: @Sendable () throws(TrustedFileError) -> (Stamp, Value)
    private let report: @Sendable (Event) -> Void
    private let state: Guarded<State>

    /// Creates a watch that has this value.
    ///
    /// - Parameters:
    ///   - value: the value of the file with `stamp`; `empty` if `stamp` is nil.
    ///   - empty: the value of a missing file.
    ///   - currentStamp: returns the stamp of the file; nil if it is missing.
    ///   - read: reads the file.
    init(
        _ value: Value, stamp: Stamp?, empty: Value, currentStamp: @escaping @Sendable () -> Stamp?,
        read: @escaping @Sendable () throws(TrustedFileError) -> (Stamp, Value),
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.empty = empty
        self.stamp = currentStamp
        self.read = read
        self.report = report
        state = Guarded(State(stamp: stamp, value: value))
    }

    /// Whether the current file could not be used, so that the value is an earlier one.
    var isStale: Bool { state.withLock { $0.isStale } }

    /// Returns the value, and a number that changes with it. Reads the file if it has changed.
    func current() -> (value: Value, version: Int) {
        refresh()
        return state.withLock { ($0.value, $0.version) }
    }

    private func refresh() {
        let stamp = stamp()
        // Of many concurrent callers, only the one that changes the state reads the file and reports.
        let isChanged: Bool? = state.withLock { state in
            let isChanged = state.stamp != stamp
            guard isChanged || state.mustReadAgain else { return nil }
            state.stamp = stamp
            state.mustReadAgain = false
            if stamp == nil {
                state.value = empty
                state.version += 1
                state.isStale = false
            }
            return isChanged
        }
        guard let isChanged else { return }
        guard stamp != nil else { return report(.missing) }
        do throws(TrustedFileError) {
            let (stamp, value) = try read()
            state.withLock { state in
                state = State(stamp: stamp, value: value, version: state.version + 1)
            }
            report(.readAgain(value))
        } catch {
            let kept = state.withLock { state in
                if state.stamp == stamp {
                    state.isStale = true
                    // The new version may revoke something. After a transient error, read it again, so that the
                    // revocation takes effect.
                    if error.mayPass { state.mustReadAgain = true }
                }
                return state.value
            }
            guard isChanged || !error.mayPass else { return }
            report(.kept(kept, error))
        }
    }
}
