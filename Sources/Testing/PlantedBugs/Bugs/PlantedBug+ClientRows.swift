import SyncSimulation

extension PlantedBug {
    private static func rows(
        _ name: String, breaks: [Invariant], _ sentence: String, _ body: String,
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in }
    ) -> PlantedBug {
        let trigger = "CREATE TRIGGER IF NOT EXISTS planted \(body)"
        return PlantedBug(name, breaks: breaks, sentence, parts: { .plantingInStores(trigger) }, shape: shape)
            .ofStoredRows
    }

    /// Bugs in the rows that a device's store writes.
    static let clientRows: [PlantedBug] = [
        rows(
            "outbox row lost", breaks: [.I1, .I5], "every fifth write has no entry in the outbox",
            """
            AFTER INSERT ON sync_outbox WHEN NEW.sequence % 5 = 3 BEGIN
                DELETE FROM sync_pending WHERE sequence = NEW.sequence;
                DELETE FROM sync_outbox WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "journal drops unhandled entries", breaks: [.I1, .I18],
            "the journal deletes its oldest entries even if the user has not handled them",
            """
            AFTER INSERT ON sync_journal BEGIN
                UPDATE sync_meta SET active_journal_entries = active_journal_entries - (SELECT count(*) FROM sync_journal
                    WHERE number <= NEW.number - 8 AND state = 'active');
                DELETE FROM sync_journal WHERE number <= NEW.number - 8;
            END
            """),
        rows(
            "conflicts outlive their entries", breaks: [.I19],
            "the conflicts of a deleted journal entry stay in the database",
            "BEFORE DELETE ON sync_conflict BEGIN SELECT RAISE(IGNORE); END",
            shape: {
                $0.setting.devices = 2
                $0.steps = 600
                $0.rates.dropLink = 0.05
            }),
        rows(
            "outbox row torn", breaks: [.I10, .I5], "the last mutation of a larger transaction is not sent",
            """
            AFTER INSERT ON sync_outbox WHEN instr(NEW.payload, '},{"collection":') > 0 BEGIN
                UPDATE sync_outbox SET payload = substr(payload, 1, instr(payload, '},{"collection":')) || ']}',
                    checksum = planted_checksum(substr(payload, 1, instr(payload, '},{"collection":')) || ']}')
                WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "outbox row edited after it was sent", breaks: [.I16, .I3],
            "a transaction that is sent again has other contents under the same number",
            """
            AFTER UPDATE OF attempts ON sync_outbox WHEN NEW.attempts > 1 BEGIN
                UPDATE sync_outbox SET payload = replace(payload, 'text', 'test'),
                    checksum = planted_checksum(replace(payload, 'text', 'test'))
                WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "response forgotten", breaks: [.I2, .I3, .I18],
            "an answered transaction is sent again under another number",
            """
            AFTER UPDATE OF version ON sync_outbox WHEN NEW.version NOT NULL AND NEW.sequence % 3 = 0 BEGIN
                UPDATE sync_outbox SET version = NULL, number = NULL WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "response invented", breaks: [.I1, .I3], "some transactions count as answered as soon as they get a number",
            """
            AFTER UPDATE OF number ON sync_outbox WHEN NEW.number % 5 = 4 BEGIN
                UPDATE sync_outbox SET version = 1 WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "number reused", breaks: [.I16, .I3, .I18], "the next number is sometimes not stored",
            """
            AFTER UPDATE OF next_number ON sync_meta WHEN NEW.next_number % 4 = 3 BEGIN
                UPDATE sync_meta SET next_number = NEW.next_number - 1;
            END
            """),
        rows(
            "number skipped", breaks: [.I3, .I16], "some numbers are never used",
            """
            AFTER UPDATE OF next_number ON sync_meta WHEN NEW.next_number % 6 = 5 BEGIN
                UPDATE sync_meta SET next_number = NEW.next_number + 1;
            END
            """),
        rows(
            "incarnation not written down", breaks: [.I16, .I18, .I2],
            "a device continues with its old identity after an identity conflict",
            """
            AFTER UPDATE OF incarnation ON sync_meta WHEN NEW.incarnation > OLD.incarnation BEGIN
                UPDATE sync_meta SET incarnation = OLD.incarnation;
            END
            """,
            shape: {
                $0.setting.hasForms = false
                $0.rates.rollBackDevice = 0.05
            }),
        rows(
            "epoch not written down", breaks: [.I15, .I18, .I7, .I8],
            "a device does not store the epoch of the server's new history",
            """
            AFTER UPDATE OF epoch ON sync_meta WHEN OLD.epoch NOT NULL AND NEW.epoch IS NOT OLD.epoch BEGIN
                UPDATE sync_meta SET epoch = OLD.epoch;
            END
            """, shape: { $0.rates.restoreServer = 0.02 }),
        rows(
            "lost records not offered whole", breaks: [.I15],
            "the journal entry of a record that a restored server lacks has other values",
            """
            AFTER INSERT ON sync_journal WHEN NEW.event = 'lost' BEGIN
                UPDATE sync_journal SET payload = replace(payload, 'text', 'test') WHERE number = NEW.number;
            END
            """, shape: { $0.rates.restoreServer = 0.03 }),
        rows(
            "lost record in another space", breaks: [.I21],
            "what a restored server has lost is offered as that of another space",
            """
            AFTER INSERT ON sync_journal WHEN NEW.event = 'lost' BEGIN
                UPDATE sync_journal SET payload = replace(payload, '"space":"north"', '"space":"default"')
                    WHERE number = NEW.number;
            END
            """,
            shape: {
                $0.setting.spaceCount = 2
                $0.rates.restoreServer = 0.03
            }),
        rows(
            "lost edits not offered", breaks: [.I15],
            "a device does not store which versions the lost history assigned",
            """
            AFTER INSERT ON sync_former BEGIN
                DELETE FROM sync_former WHERE collection = NEW.collection AND id = NEW.id;
            END
            """, shape: { $0.rates.restoreServer = 0.03 }),
        rows(
            "lost values give way to any pending edit", breaks: [.I15],
            "a device does not remember the versions of a lost history for records with pending edits",
            """
            AFTER INSERT ON sync_former WHEN EXISTS (
                SELECT 1 FROM sync_pending WHERE collection = NEW.collection AND id = NEW.id AND link = 'changes'
            ) BEGIN
                DELETE FROM sync_former WHERE collection = NEW.collection AND id = NEW.id;
            END
            """,
            shape: {
                $0.rates.restoreServer = 0.03
                $0.rates.dropLink = max($0.rates.dropLink, 0.05)
            }),
        rows(
            "edits offered that were not lost", breaks: [.I15],
            "a device stores versions of the lost history that are too high",
            """
            AFTER INSERT ON sync_former BEGIN
                UPDATE sync_former SET version = NEW.version + 1000, field_versions = NULL
                WHERE collection = NEW.collection AND id = NEW.id;
            END
            """, shape: { $0.rates.restoreServer = 0.06 }),
        rows(
            "own commits forgotten", breaks: [.I15, .I1],
            "after a restore, a device does not know which values it wrote",
            "AFTER INSERT ON sync_confirmed BEGIN DELETE FROM sync_confirmed; END",
            shape: { plan in
                // A device must be offline while others replace the values that it wrote before the restore.
                plan = .calm(seed: plan.setting.seed, devices: 3, steps: 400)
                plan.pause = .seconds(1)...(.seconds(5))
                plan.rates.restoreServer = 0.06
                plan.rates.dropLink = 0.15
                plan.rates.recover = 0.15
            }
        ).rare,
        rows(
            "outbox emptied by a new epoch", breaks: [.I15, .I1, .I18],
            "a new epoch deletes the outbox",
            """
            AFTER UPDATE OF epoch ON sync_meta WHEN OLD.epoch NOT NULL AND NEW.epoch IS NOT OLD.epoch BEGIN
                DELETE FROM sync_pending;
                DELETE FROM sync_outbox;
            END
            """, shape: { $0.rates.restoreServer = 0.03 }),
        rows(
            "stamps repeat", breaks: [.I22, .I3], "the device does not store its clock",
            """
            AFTER UPDATE OF clock ON sync_meta WHEN NEW.clock <> OLD.clock BEGIN
                UPDATE sync_meta SET clock = OLD.clock;
            END
            """),
        rows(
            "journal entry lost", breaks: [.I17, .I1], "rejected transactions are not in the journal",
            "AFTER INSERT ON sync_journal WHEN NEW.event = 'rejected' BEGIN DELETE FROM sync_journal WHERE number = NEW.number; END"
        ),
        rows(
            "journal keeps other values", breaks: [.I1],
            "the journal entry of a rejected or cancelled transaction has other values",
            """
            AFTER INSERT ON sync_journal WHEN NEW.event IN ('rejected', 'cancelled') BEGIN
                UPDATE sync_journal SET payload = replace(payload, 'text', 'test') WHERE number = NEW.number;
            END
            """),
        rows(
            "offers not reduced", breaks: [.I21],
            "an offer of which the device wrote a part keeps the values of others when the access is lost",
            """
            AFTER UPDATE OF own_part ON sync_journal WHEN OLD.own_part IS NOT NULL AND NEW.own_part IS NULL BEGIN
                UPDATE sync_journal SET payload = OLD.payload WHERE number = NEW.number;
            END
            """,
            shape: { plan in
                plan.setting.spaceCount = 2
                plan.setting.devices = 3
                plan.rates.restoreServer = 0.1
                plan.rates.changeAccess = 0.2
            }),
        rows(
            "refusal blamed on another", breaks: [.I17],
            "a rejected transaction is reported as dependent on another rejected one",
            """
            AFTER INSERT ON sync_journal WHEN NEW.code <> 'depends_on_rejected' BEGIN
                UPDATE sync_journal SET code = 'depends_on_rejected' WHERE number = NEW.number;
            END
            """),
        rows(
            "waiting entry changed", breaks: [.I10, .I5],
            "a new write changes the contents of the waiting entry before it",
            """
            AFTER INSERT ON sync_outbox BEGIN
                UPDATE sync_outbox SET payload = replace(payload, 'text', 'test'),
                    checksum = planted_checksum(replace(payload, 'text', 'test'))
                WHERE sequence = NEW.sequence - 1 AND number IS NULL;
            END
            """),
        rows(
            "link to a record lost", breaks: [.I6, .I5],
            "a page overwrites pending values, because the link from the record to its outbox entry is missing",
            """
            AFTER INSERT ON sync_pending WHEN NEW.link = 'changes' AND NEW.sequence % 4 = 1 BEGIN
                DELETE FROM sync_pending
                WHERE collection = NEW.collection AND id = NEW.id AND sequence = NEW.sequence;
            END
            """),
        rows(
            "row of a page lost", breaks: [.I8, .I5], "the cursor moves past a record that is not written",
            """
            AFTER INSERT ON customer WHEN NEW.version % 4 = 1 BEGIN DELETE FROM customer WHERE id = NEW.id; END
            """),
        rows(
            "update of a page lost", breaks: [.I8, .I5], "the cursor moves past a change that is not written",
            """
            AFTER UPDATE OF name ON customer WHEN NEW.version > OLD.version AND NEW.version % 3 = 1 BEGIN
                UPDATE customer SET name = OLD.name WHERE id = NEW.id;
            END
            """),
        rows(
            "cursor runs ahead", breaks: [.I8, .I18, .I5],
            "the stored version of a space is higher than that of its last page",
            """
            AFTER UPDATE OF version ON sync_space WHEN NEW.version % 6 = 5 AND NEW.phase = 'complete' BEGIN
                UPDATE sync_space SET version = NEW.version + 1;
            END
            """),
        rows(
            "cursor goes back", breaks: [.I8, .I7, .I18], "the stored version of a space is sometimes lowered",
            """
            AFTER UPDATE OF version ON sync_space WHEN NEW.version % 6 = 5 AND NEW.phase = 'complete' BEGIN
                UPDATE sync_space SET version = NEW.version - 3;
            END
            """),
        rows(
            "snapshot complete too soon", breaks: [.I4, .I5, .I8],
            "a space counts as complete before its snapshot has been read",
            """
            AFTER UPDATE OF phase ON sync_space WHEN NEW.phase = 'snapshot' BEGIN
                UPDATE sync_space SET phase = 'complete' WHERE key = NEW.key;
            END
            """, shape: { $0.rates.compactServer = 0.1 }),
        rows(
            "deletion forgotten", breaks: [.I12, .I5], "a record that the server has deleted is shown again",
            """
            AFTER UPDATE OF is_deleted ON sync_base WHEN NEW.is_deleted = 1 BEGIN
                UPDATE sync_base SET is_deleted = 0, uid = OLD.uid, version = OLD.version, fields = OLD.fields
                WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "sweep forgotten", breaks: [.I12, .I14, .I5, .I19],
            "records that a snapshot no longer shows stay on the device",
            """
            AFTER UPDATE OF marks ON sync_space WHEN NEW.marks = 1 BEGIN
                UPDATE sync_space SET marks = 0 WHERE key = NEW.key;
            END
            """, shape: { $0.rates.compactServer = 0.1 }),
        rows(
            "sweep too wide", breaks: [.I14, .I15, .I5],
            "records that a snapshot contains are deleted as if it did not",
            "AFTER INSERT ON sync_seen BEGIN DELETE FROM sync_seen WHERE id = NEW.id; END",
            shape: { $0.rates.compactServer = 0.1 }),
        rows(
            "record version lowered", breaks: [.I7], "an update lowers the version of a record",
            """
            AFTER UPDATE OF version ON customer WHEN NEW.version > OLD.version AND OLD.version > 0 BEGIN
                UPDATE customer SET version = OLD.version - 1 WHERE id = NEW.id;
            END
            """),
        rows(
            "field versions lost", breaks: [.I7, .I5],
            "a device claims to have seen newer values of fields than it has",
            """
            AFTER UPDATE OF sync_fields ON customer WHEN NEW.sync_fields NOT NULL BEGIN
                UPDATE customer SET sync_fields = NULL WHERE id = NEW.id;
            END
            """),
        rows(
            "base version lowered", breaks: [.I7, .I5], "the version of an edited record's base is lowered",
            """
            AFTER INSERT ON sync_base WHEN NEW.version > 1 BEGIN
                UPDATE sync_base SET version = 1, field_versions = NULL
                WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "base not stored", breaks: [.I5, .I7, .I1],
            "what the server last sent is forgotten when an edit is merged with it, cancelled, or rejected",
            """
            AFTER INSERT ON sync_base BEGIN
                DELETE FROM sync_base WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "links stay behind", breaks: [.I19],
            "the links of a deleted outbox entry to the records that it refers to remain",
            "BEFORE DELETE ON sync_pending WHEN OLD.link = 'refers' BEGIN SELECT RAISE(IGNORE); END"),
        rows(
            "space of a base lost", breaks: [.I5],
            "a rejected edit moves a record to another space",
            """
            AFTER INSERT ON sync_base BEGIN
                UPDATE sync_base SET space = NULL WHERE collection = NEW.collection AND id = NEW.id;
            END
            """,
            shape: {
                $0.setting.devices = max($0.setting.devices, 2)
                $0.setting.spaceCount = 3
                $0.rates.dropLink = 0.1
            }),
        rows(
            "space of a record lost", breaks: [.I5], "an update moves a record to the device's first space",
            """
            AFTER UPDATE OF version ON customer WHEN NEW.version > 0 BEGIN
                UPDATE customer SET sync_space = (SELECT min(key) FROM sync_space) WHERE id = NEW.id;
            END
            """, shape: { $0.setting.spaceCount = 2 }),
        rows(
            "uid lost", breaks: [.I13, .I4], "some uids are not stored",
            """
            AFTER UPDATE OF uid ON customer WHEN NEW.uid % 4 = 2 BEGIN
                UPDATE customer SET uid = -1 WHERE id = NEW.id;
            END
            """),
        rows(
            "required reference cleared", breaks: [.I11, .I5],
            "a required reference is replaced by one to a missing record",
            """
            AFTER INSERT ON picture WHEN NEW.version % 2 = 1 BEGIN
                UPDATE picture SET painter = randomblob(16) WHERE id = NEW.id;
            END
            """),
        rows(
            "counts of the outbox lost", breaks: [.I18, .I4], "the outbox is counted as empty when it is not",
            """
            AFTER UPDATE OF waiting ON sync_meta WHEN NEW.waiting > 2 BEGIN
                UPDATE sync_meta SET waiting = 0;
            END
            """),
    ]
}
