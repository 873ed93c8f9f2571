import SyncAuthority
import SyncConcurrency

/// The shares of the server's memory that principals may use: requests in progress, event streams, and bytes of request
/// bodies.
final class RequestBudget: Sendable {
    struct Limits: Hashable, Sendable {
        var requests = SyncServerLimits.requestsPerPrincipal
        var streams = SyncServerLimits.streamsPerPrincipal
        var bytes = SyncServerLimits.bodyBytesPerPrincipal
        var bytesOfAll = SyncServerLimits.bodyBytes
    }

    /// Creates a budget in which no principal can use all connections of an address.
    ///
    /// - Parameter perAddress: Maximum number of open connections from one address.
    convenience init(connectionsPerAddress perAddress: Int) {
        let share = max(1, perAddress / SyncServerLimits.principalShareOfAddress)
        var limits = Limits()
        limits.requests = min(limits.requests, share)
        limits.streams = min(limits.streams, share)
        self.init(limits: limits)
    }

    /// The part of the budget that one principal is using.
    private struct Use {
        var requests = 0
        var streams = 0
        var bytes = 0

        var isNone: Bool { requests == 0 && streams == 0 && bytes == 0 }
    }

    private struct State {
        var uses: [Principal: Use] = [:]
        var bytes = 0
    }

    enum Kind: Sendable {
        case request
        case stream
    }

    private let limits: Limits
    private let state = Guarded(State())

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// The number of open event streams of all principals.
    var openStreams: Int { state.withLock { $0.uses.values.reduce(0) { $0 + $1.streams } } }

    /// Whether the whole budget is free. For tests.
    var isUnused: Bool { state.withLock { $0.uses.isEmpty && $0.bytes == 0 } }

    /// Returns a reservation for one request; nil when its principal already has too many.
    func reservation(for principal: Principal, _ kind: Kind) -> Reservation? {
        let isFree = state.withLock { state in
            var use = state.uses[principal] ?? Use()
            switch kind {
            case .request:
                guard use.requests < limits.requests else { return false }
                use.requests += 1
            case .stream:
                guard use.streams < limits.streams else { return false }
                use.streams += 1
            }
            state.uses[principal] = use
            return true
        }
        return isFree ? Reservation(budget: self, principal: principal, kind: kind) : nil
    }

    private func take(_ bytes: Int, for principal: Principal) -> Bool {
        state.withLock { state in
            var use = state.uses[principal] ?? Use()
            guard use.bytes + bytes <= limits.bytes, state.bytes + bytes <= limits.bytesOfAll else { return false }
            use.bytes += bytes
            state.uses[principal] = use
            state.bytes += bytes
            return true
        }
    }

    private func release(_ bytes: Int, _ kind: Kind?, for principal: Principal) {
        state.withLock { state in
            guard var use = state.uses[principal] else { return }
            use.bytes -= bytes
            state.bytes -= bytes
            switch kind {
            case .request?: use.requests -= 1
            case .stream?: use.streams -= 1
            case nil: break
            }
            state.uses[principal] = use.isNone ? nil : use
        }
    }

    /// The part of the budget that one request is using.
    ///
    /// `leave()` returns this part to the budget. At the latest, `deinit` returns it.
    final class Reservation: Sendable {
        private let budget: RequestBudget
        private let principal: Principal
        private let kind: Kind
        /// The number of bytes of the request's body; nil after `leave()`.
        private let bytes = Guarded<Int?>(0)

        fileprivate init(budget: RequestBudget, principal: Principal, kind: Kind) {
            self.budget = budget
            self.principal = principal
            self.kind = kind
        }

        deinit {
            leave()
        }

        /// Reserves bytes for the request's body.
        ///
        /// - Returns: whether the budget has room for these bytes.
        func take(_ count: Int) -> Bool {
            guard budget.take(count, for: principal) else { return false }
            let isLate = bytes.withLock { bytes in
                guard let old = bytes else { return true }
                bytes = old + count
                return false
            }
            if isLate { budget.release(count, nil, for: principal) }
            return !isLate
        }

        /// Returns the bytes of the body to the budget, because the body is no longer needed.
        func releaseBody() {
            let count = bytes.withLock { bytes in
                let count = bytes ?? 0
                if bytes != nil { bytes = 0 }
                return count
            }
            budget.release(count, nil, for: principal)
        }

        func leave() {
            let count = bytes.withLock { bytes in
                let count = bytes
                bytes = nil
                return count
            }
            if let count { budget.release(count, kind, for: principal) }
        }
    }
}
