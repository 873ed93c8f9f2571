import SimulationRecipes
import SyncCore
import SyncModel
import SyncSimulation

extension PlantedBug {
    /// Bugs in users' decisions about entries of their journals.
    static let decisions: [PlantedBug] = [
        PlantedBug(
            "correction leaves its entry open", breaks: [.I6], "the entry stays open after its changes were corrected",
            parts: {
                .wrappingStores {
                    $0.onCorrect = { (base, edits, _, space, now) throws(StoreError) in
                        try base.commit(edits, in: space, now: now)
                    }
                }
            }, shape: decide),
        PlantedBug(
            "corrected records forgotten", breaks: [.I6],
            "other entries do not follow a record to the id under which a correction has created it",
            parts: {
                .wrappingStores {
                    $0.onCorrect = { (base, edits, correction, space, now) throws(StoreError) in
                        let correction = JournalCorrection(entry: correction.entry)
                        return try base.commit(edits, seen: [:], correcting: correction, in: space, now: now)
                    }
                }
            },
            shape: { plan in
                decide(&plan)
                // A write that was rejected with the creation of its record has to be restored by the same process.
                plan.setting.devices = 1
                plan.rates.killDevice = 0
                plan.rates.stopDevice = 0
                plan.rates.losePowerOfDevice = 0
                plan.rates.rollBackDevice = 0
                plan.rates.deviceDiskFault = 0
                plan.rates.dropLink = 0.1
                plan.rates.recover = 0.1
                plan.steps = 1_000
            }
        ).rare,
        PlantedBug(
            "restored entry called dismissed", breaks: [.I6],
            "an entry can be restored again, because it counts as dismissed after its restore",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF state ON sync_journal WHEN NEW.state = 'restored'
                    BEGIN UPDATE sync_journal SET state = 'dismissed' WHERE number = NEW.number; END
                    """)
            }, shape: decide),
        PlantedBug(
            "dismissed entries not restored", breaks: [.I6],
            "the restore of a dismissed entry fails, as if one of its records were missing",
            parts: {
                .wrappingStores {
                    $0.onRestore = { (base, number, left, now, newID) throws(StoreError) in
                        guard try base.journalEntry(number)?.state != .dismissed else {
                            throw StoreError(.missingRecord, "planted")
                        }
                        return try base.restore(journal: number, leaving: left, now: now, newID: newID)
                    }
                }
            }, shape: decide),
    ]

    /// Makes users decide about many entries of their journals.
    @Sendable private static func decide(_ plan: inout WorldPlan) {
        plan.setting.hasRule = true
        plan.setting.hasCorrections = true
        plan.setting.restoresAny = true
        plan.rates.dropLink = max(plan.rates.dropLink, 0.05)
        plan.steps = 400
    }
}
