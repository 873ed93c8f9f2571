import SimulationRecipes
import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation

extension PlantedBug {
    /// Bugs that take effect when devices and the server have different builds.
    static let builds: [PlantedBug] = [
        PlantedBug(
            "unknown fields dropped", breaks: [.I5, .I4], "a device forgets the fields that its build does not know",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON customer WHEN NEW.sync_unknown IS NOT NULL BEGIN
                        UPDATE customer SET sync_unknown = NULL WHERE sync_row = NEW.sync_row;
                    END;
                    CREATE TRIGGER IF NOT EXISTS planted_too AFTER UPDATE OF sync_unknown ON customer
                    WHEN NEW.sync_unknown IS NOT NULL BEGIN
                        UPDATE customer SET sync_unknown = NULL WHERE sync_row = NEW.sync_row;
                    END
                    """)
            }, shape: earlierDevice
        )
        .ofStoredRows,
        PlantedBug(
            "unknown records dropped", breaks: [.I5, .I4, .I8],
            "a device forgets the records of collections that its build does not know",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON sync_foreign BEGIN
                        DELETE FROM sync_foreign WHERE collection = NEW.collection AND id = NEW.id;
                    END
                    """)
            }, shape: earlierDevice
        )
        .ofStoredRows,
        PlantedBug(
            "held writes forgotten", breaks: [.I1, .I5],
            "a write that waits for a newer server is deleted when the server is upgraded",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF held_for ON sync_outbox
                    WHEN OLD.held_for IS NOT NULL AND NEW.held_for IS NULL BEGIN
                        DELETE FROM sync_pending WHERE sequence = NEW.sequence;
                        DELETE FROM sync_outbox WHERE sequence = NEW.sequence;
                        UPDATE sync_meta SET waiting = waiting - 1, outbox_bytes = outbox_bytes - NEW.bytes;
                    END
                    """)
            }, shape: earlierServer
        )
        .ofStoredRows,
        PlantedBug(
            "repeats in the order of writing", breaks: [.I3],
            "a write that has waited for a newer server is repeated before those that have smaller numbers",
            parts: {
                .wrappingStores {
                    $0.onTakeBatch = { (base, limit, now) throws(StoreError) in
                        guard let batch = try base.takeBatch(limit, now: now) else { return nil }
                        return batch.inTheOrderOfWriting
                    }
                }
            }, shape: earlierServer),
        PlantedBug(
            "unshown fields claimed as seen", breaks: [.I1],
            "a delete claims that its user has seen the fields that the build does not know",
            parts: {
                .plantingInStores(
                    """
                    CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON sync_outbox
                    WHEN instr(NEW.payload, '"unshown"') BEGIN
                        UPDATE sync_outbox SET payload = replace(payload, '"motto"', '"mottx"')
                        WHERE sequence = NEW.sequence;
                        UPDATE sync_outbox SET checksum = planted_checksum(payload) WHERE sequence = NEW.sequence;
                    END
                    """)
            },
            shape: {
                earlierDevice(&$0)
                $0.rates.upgrade = 0
                $0.steps = 400
            }
        )
        .ofStoredRows,
        PlantedBug(
            "server hides what it knows", breaks: [.I17],
            "the hello omits the server's models, so a device sends writes that the server must reject",
            parts: { .wrappingAuthority { $0.onHello = \.withoutModels } }, shape: earlierServer),
    ]

    @Sendable private static func earlierDevice(_ plan: inout WorldPlan) {
        plan.setting.devices = max(plan.setting.devices, 2)
        plan.setting.earlierDevices = [0]
        plan.rates.upgrade = 0.02
    }

    @Sendable private static func earlierServer(_ plan: inout WorldPlan) {
        plan.setting.isServerEarlier = true
        plan.rates.upgrade = 0.02
        // Frequent loss of responses makes devices repeat their batches.
        plan.setting.network.loseResponseRate = max(plan.setting.network.loseResponseRate, 0.2)
        plan.setting.policy.batch.transactions = max(plan.setting.policy.batch.transactions, 8)
    }
}

extension PushBatch {
    fileprivate var inTheOrderOfWriting: PushBatch {
        func time(_ numbered: NumberedTransaction) -> HybridTime { numbered.transaction.mutations.first?.time ?? .zero }
        return with(transactions: transactions.sorted { time($0) < time($1) })
    }
}

extension ServerHello {
    fileprivate var withoutModels: ServerHello {
        ServerHello(
            protocolVersions: protocolVersions, epoch: epoch, account: account, serverTime: serverTime,
            limits: limits, models: nil)
    }
}
