import SimulationRecipes
import SyncSimulation

/// A bug that is planted in a world on purpose, to prove that the oracles detect it.
package struct PlantedBug: Sendable, CustomStringConvertible {
    package let name: String
    /// The invariants by which an oracle may detect the bug. The first one is the invariant that the bug breaks
    /// directly.
    let breaks: [Invariant]
    /// A sentence that describes the bug.
    package let sentence: String
    var parts: @Sendable () -> WorldParts
    /// Changes the plan of the world so that the bug can take effect, for example by making rare faults frequent.
    var shape: @Sendable (inout WorldPlan) -> Void = { _ in }
    /// The same parts without the bug, with which the world runs again to check that `shape` alone breaks no
    /// promise; nil if `shape` itself sets a policy that is out of range.
    var partsWithoutBug: (@Sendable () -> WorldParts)? = { .onSQLite() }
    /// Whether the bug counts as found only if the users' oracle finds it.
    var isFoundByUsers = false
    /// Whether the bug damages the rows of a device's store, so that the store itself may notice it (I25).
    var damagesStores = false
    /// Whether finding the bug takes so many worlds that only `tools/soak bugs` tries to find it.
    package private(set) var isRare = false

    init(
        _ name: String, breaks: [Invariant], _ sentence: String,
        parts: @escaping @Sendable () -> WorldParts = { .onSQLite() },
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in }
    ) {
        self.name = name
        self.breaks = breaks
        self.sentence = sentence
        self.parts = parts
        self.shape = shape
    }

    package var description: String { name }

    /// Whether each run of the tests plants the bug, because the first worlds find it soon.
    var isQuick: Bool { Self.quick.contains(name) }

    /// This bug, marked so that only `tools/soak bugs` tries to find it.
    var rare: PlantedBug {
        var bug = self
        bug.isRare = true
        return bug
    }

    /// This bug, marked as damaging the rows of a device's store.
    var ofStoredRows: PlantedBug {
        var bug = self
        bug.damagesStores = true
        return bug
    }

    /// This bug, marked as a policy that is out of range.
    var ofPolicy: PlantedBug {
        var bug = self
        bug.partsWithoutBug = nil
        return bug
    }

    /// All planted bugs.
    package static let all: [PlantedBug] =
        plain + clientRows + serverRows + stores + authorities + transports + policies.map(\.ofPolicy) + limits + disks
        + access + users + decisions + builds
}

extension PlantedBug {
    /// The bugs of the plain authority.
    static let plain: [PlantedBug] = PlainAuthority.Bug.allCases.map { bug in
        var planted = PlantedBug(
            "plain \(bug.rawValue)", breaks: bug.breaks, bug.sentence, parts: { .plain(bug: bug) },
            shape: { plan in
                // The plain authority has only one space, which all devices may use.
                plan.setting.spaceCount = 1
                plan.rates.changeAccess = 0
                // Conflicts occur when devices write without having seen each other's edits.
                plan.setting.devices = max(plan.setting.devices, 2)
                plan.rates.dropLink = max(plan.rates.dropLink, 0.05)
                if bug == .ignoresStoredLedger { plan.rates.secondServer = 0.05 }
                // An older edit of the same field has to arrive after the one that set the value back, which is rare.
                if bug == .forgetsRepeats {
                    plan.rates.dropLink = 0.1
                    plan.steps = 1_500
                    // The plain authority uses no disk, so planned faults of the server would never end.
                    plan.rates.serverDiskFault = 0
                }
            })
        planted.partsWithoutBug = { .plain() }
        return bug == .forgetsRepeats ? planted.rare : planted
    }
}

extension PlainAuthority.Bug {
    fileprivate var breaks: [Invariant] {
        switch self {
        case .appliesRepeatsAgain, .changesOutcomesOfRepeats: [.I2]
        case .ignoresStoredLedger: [.I16, .I2]
        case .dropsLastChange: [.I10, .I9, .I5]
        case .skipsCommits: [.I9, .I18, .I8]
        case .resurrects: [.I12, .I17]
        case .lastPushWins, .losesFields, .forgetsRepeats: [.I5, .I9, .I4, .I6]
        case .repeatsUIDs: [.I13]
        case .acknowledgesWithoutApplying: [.I5, .I9, .I1]
        case .refusesAtRandom: [.I17]
        case .hidesFeed: [.I18, .I9]
        case .reordersResponses: [.I3]
        }
    }

    fileprivate var sentence: String {
        switch self {
        case .appliesRepeatsAgain: "a repeated transaction is applied again"
        case .changesOutcomesOfRepeats: "a repeat gets another outcome"
        case .dropsLastChange: "a commit with several changes omits the last one"
        case .skipsCommits: "a page with more than two commits omits the second one"
        case .resurrects: "an update brings a deleted record back"
        case .lastPushWins: "a pushed value wins regardless of the merge rule"
        case .losesFields: "the last field of an update is not applied"
        case .repeatsUIDs: "a uid is assigned twice"
        case .acknowledgesWithoutApplying: "some transactions are acknowledged but not applied"
        case .refusesAtRandom: "some transactions are rejected without a reason"
        case .hidesFeed: "the feed never contains a commit"
        case .reordersResponses: "the first two outcomes of a push are swapped"
        case .forgetsRepeats: "an older edit replaces in silence a value that was changed and set back"
        case .ignoresStoredLedger: "a process ignores the ledger entries that another process has written"
        }
    }
}
