import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// A record of each principal's access rights, as set by the operator, and a check that the server enforces them (I21).
///
/// The server reads its access rules when a process starts, so the world restarts it after each change.
final class AccessOracle: Sendable {
    private struct Right: Hashable, Sendable {
        let principal: Principal
        let space: SpaceID
    }

    private struct State: Sendable {
        var withdrawn: Set<Right> = []
        var everWithdrawn: Set<Right> = []
        /// The time at which each right was last given back.
        var givenBack: [Right: Duration] = [:]
    }

    /// The principal of the world's own reader and of the stranger who forges pushes. It always has access to every
    /// space.
    static let reader = Principal(name: "operator")

    private let principals: Set<Principal>
    private let spaces: [SpaceID]
    private let violations: ViolationLog
    private let state = Guarded(State())

    /// - Parameter principals: the principals whose rights may change.
    init(principals: [Principal], spaces: [SpaceID], violations: ViolationLog) {
        self.principals = Set(principals)
        self.spaces = spaces
        self.violations = violations
    }

    /// Removes a right, or gives it back if it was removed.
    ///
    /// - Returns: whether the principal has the right now.
    func change(of principal: Principal, in space: SpaceID, at now: Duration) -> Bool {
        let right = Right(principal: principal, space: space)
        return state.withLock { state in
            if state.withdrawn.remove(right) != nil {
                state.givenBack[right] = now
                return true
            }
            state.withdrawn.insert(right)
            state.everWithdrawn.insert(right)
            return false
        }
    }

    func has(_ principal: Principal, accessTo space: SpaceID) -> Bool {
        state.withLock { !$0.withdrawn.contains(Right(principal: principal, space: space)) }
    }

    /// Returns whether the principal was ever without access, so that the server may have told it so.
    func wasWithdrawn(from principal: Principal, _ space: SpaceID) -> Bool {
        state.withLock { $0.everWithdrawn.contains(Right(principal: principal, space: space)) }
    }

    /// Returns whether a device of the principal may have been told since `time` that it has no access.
    func mayHaveBeenTold(_ principal: Principal, ofLosing space: SpaceID, since time: Duration) -> Bool {
        let right = Right(principal: principal, space: space)
        return state.withLock { state in
            if state.withdrawn.contains(right) { return true }
            // A response may arrive long after the server has sent it.
            return state.givenBack[right].map { time <= $0 + SimulationLimits.latestResponse } ?? false
        }
    }

    /// The rules that a process of the server reads when it starts.
    var rules: AccessRules {
        AccessRules(
            spaces.map { space in
                let left = principals.filter { has($0, accessTo: space) }
                return AccessRules.Rule(
                    principals: left.count == principals.count ? .everyone : .only(left.union([Self.reader])),
                    spaces: .only([space]), access: .readAndWrite)
            })
    }

    /// Checks the contents of a space that a device may not read: the device may hold only records that its outbox
    /// creates, and offer only values that its own users have entered.
    ///
    /// - Parameter hasEntered: whether a user of the device has entered a value.
    func check(
        _ held: [CollectionName: [Record]], in space: SpaceID, of device: String, owing entries: [OutboxEntry],
        _ journal: [JournalEntry], hasEntered: (UserOracle.Saved) -> Bool
    ) throws(Violation) {
        var made: Set<RecordID> = []
        for transaction in entries.map(\.transaction) where transaction.space == space {
            made.formUnion(transaction.createdRecords)
        }
        for (collection, records) in held.sorted(by: { $0.key < $1.key }) {
            if let record = records.first(where: { !made.contains($0.id) }) {
                throw Violation(.I21, "\(device) has no access to \(space), and holds \(collection) \(record.id) of it")
            }
        }
        for entry in journal {
            guard case .lost(let transaction) = entry.event, transaction.space == space else { continue }
            for mutation in transaction.mutations {
                for (name, value) in mutation.patch {
                    let saved = UserOracle.Saved(
                        field: UserOracle.FieldAddress(mutation.address, name), value: value)
                    // Only texts are unique, so other values of others may be equal.
                    guard case .text = value, !hasEntered(saved) else { continue }
                    throw Violation(
                        .I21,
                        "\(device) has no access to \(space), and its journal offers \(saved), which others entered (\(entry.number))"
                    )
                }
            }
        }
    }
}

extension AccessOracle: ServerObserver {
    func pullAnswered(_ request: PullRequest, _ response: PullResponse, to device: String, as principal: Principal) {
        let may = has(principal, accessTo: request.space)
        switch response {
        case .page where !may:
            violations.report(Violation(.I21, "\(device) may not read \(request.space), and is shown a page of it"))
        case .noAccess where may && principals.contains(principal):
            violations.report(Violation(.I21, "\(device) may read \(request.space), and is told that it may not"))
        case .page, .mustReset, .noAccess: return
        }
    }
}
