import SyncSimulation

extension Mutant {
    private static func rows(
        _ name: String, breaks: [Invariant], _ sentence: String, _ body: String,
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in }
    ) -> Mutant {
        let trigger = "CREATE TRIGGER IF NOT EXISTS planted \(body)"
        return Mutant(name, breaks: breaks, sentence, parts: { .plantingInStores(trigger) }, shape: shape).ofStoredRows
    }

    /// Bugs in the rows that a device's store writes.
    static let clientRows: [Mutant] = [
        rows(
            "outbox row lost", breaks: [.I1, .I5], "one write in a while has no entry in the outbox",
            """
            AFTER INSERT ON sync_outbox WHEN NEW.sequence % 5 = 3 BEGIN
                DELETE FROM sync_pending WHERE sequence = NEW.sequence;
                DELETE FROM sync_outbox WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "journal drops unhandled entries", breaks: [.I1, .I18],
            "the journal keeps its newest entries, seen or not",
            """
            AFTER INSERT ON sync_journal BEGIN
                UPDATE sync_meta SET unseen = unseen - (SELECT count(*) FROM sync_journal
                    WHERE number <= NEW.number - 8 AND state = 'active');
                DELETE FROM sync_journal WHERE number <= NEW.number - 8;
            END
            """),
        rows(
            "conflicts outlive their entries", breaks: [.I19], "what the journal forgets is forgotten in part",
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
                UPDATE sync_outbox SET payload = substr(payload, 1, instr(payload, '},{"collection":')) || ']}'
                WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "outbox row edited after it was sent", breaks: [.I16, .I3],
            "a transaction that is sent again has other contents under the same number",
            """
            AFTER UPDATE OF attempts ON sync_outbox WHEN NEW.attempts > 1 BEGIN
                UPDATE sync_outbox SET payload = replace(payload, 'text', 'test') WHERE sequence = NEW.sequence;
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
            "response invented", breaks: [.I1, .I3], "a transaction is taken for answered as soon as it is sent",
            """
            AFTER UPDATE OF number ON sync_outbox WHEN NEW.number % 5 = 4 BEGIN
                UPDATE sync_outbox SET version = 1 WHERE sequence = NEW.sequence;
            END
            """),
        rows(
            "number reused", breaks: [.I16, .I3, .I18], "the next number is not written down now and then",
            """
            AFTER UPDATE OF next_number ON sync_meta WHEN NEW.next_number % 4 = 3 BEGIN
                UPDATE sync_meta SET next_number = NEW.next_number - 1;
            END
            """),
        rows(
            "number skipped", breaks: [.I3, .I16], "a number is left out",
            """
            AFTER UPDATE OF next_number ON sync_meta WHEN NEW.next_number % 6 = 5 BEGIN
                UPDATE sync_meta SET next_number = NEW.next_number + 1;
            END
            """),
        rows(
            "incarnation not written down", breaks: [.I16, .I18, .I2],
            "after a conflict of identities the old one is used on",
            """
            AFTER UPDATE OF incarnation ON sync_meta WHEN NEW.incarnation > OLD.incarnation BEGIN
                UPDATE sync_meta SET incarnation = OLD.incarnation;
            END
            """, shape: { $0.rates.rollBackDevice = 0.05 }),
        rows(
            "epoch not written down", breaks: [.I15, .I18, .I7, .I8], "a new history of the server is not noted",
            """
            AFTER UPDATE OF epoch ON sync_meta WHEN OLD.epoch NOT NULL AND NEW.epoch IS NOT OLD.epoch BEGIN
                UPDATE sync_meta SET epoch = OLD.epoch;
            END
            """, shape: { $0.rates.restoreServer = 0.02 }),
        rows(
            "forgotten records not offered whole", breaks: [.I15],
            "what a restored server does not have is kept without its values",
            """
            AFTER INSERT ON sync_journal WHEN NEW.event = 'forgotten' BEGIN
                UPDATE sync_journal SET payload = replace(payload, 'text', 'test') WHERE number = NEW.number;
            END
            """, shape: { $0.rates.restoreServer = 0.03 }),
        rows(
            "forgotten edits not offered", breaks: [.I15],
            "which versions a lost history had given is not remembered",
            """
            AFTER INSERT ON sync_former BEGIN
                DELETE FROM sync_former WHERE collection = NEW.collection AND id = NEW.id;
            END
            """, shape: { $0.rates.restoreServer = 0.03 }),
        rows(
            "lost values give way to any pending edit", breaks: [.I15],
            "which versions a lost history had given is not remembered of records that are being edited",
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
            "edits offered that were not lost", breaks: [.I15], "a lost history is believed to have been far ahead",
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
                // A device is away while others replace what it wrote before the restore.
                plan = .calm(seed: plan.setting.seed, devices: 3, steps: 400)
                plan.pause = .seconds(1)...(.seconds(5))
                plan.rates.restoreServer = 0.06
                plan.rates.dropLink = 0.15
                plan.rates.recover = 0.15
            }),
        rows(
            "outbox emptied by a new epoch", breaks: [.I15, .I1],
            "what a restored server lacks is not offered again",
            """
            AFTER UPDATE OF epoch ON sync_meta WHEN OLD.epoch NOT NULL AND NEW.epoch IS NOT OLD.epoch BEGIN
                DELETE FROM sync_pending;
                DELETE FROM sync_outbox;
            END
            """, shape: { $0.rates.restoreServer = 0.03 }),
        rows(
            "stamps repeat", breaks: [.I22, .I3], "the device's clock is not written down",
            """
            AFTER UPDATE OF clock ON sync_meta WHEN NEW.clock <> OLD.clock BEGIN
                UPDATE sync_meta SET clock = OLD.clock;
            END
            """),
        rows(
            "journal entry lost", breaks: [.I17, .I1], "what was rejected is not in the journal",
            "AFTER INSERT ON sync_journal WHEN NEW.event = 'rejected' BEGIN DELETE FROM sync_journal WHERE number = NEW.number; END"
        ),
        rows(
            "journal keeps other values", breaks: [.I1], "what was rejected or cancelled is not kept as it was written",
            """
            AFTER INSERT ON sync_journal WHEN NEW.event IN ('rejected', 'cancelled') BEGIN
                UPDATE sync_journal SET payload = replace(payload, 'text', 'test') WHERE number = NEW.number;
            END
            """),
        rows(
            "refusal blamed on another", breaks: [.I17],
            "what the server has refused is said to depend on something refused before",
            """
            AFTER INSERT ON sync_journal WHEN NEW.code <> 'depends_on_rejected' BEGIN
                UPDATE sync_journal SET code = 'depends_on_rejected' WHERE number = NEW.number;
            END
            """),
        rows(
            "waiting entry changed", breaks: [.I10, .I5], "what waits says something else when the next is written",
            """
            AFTER INSERT ON sync_outbox BEGIN
                UPDATE sync_outbox SET payload = replace(payload, 'text', 'test')
                WHERE sequence = NEW.sequence - 1 AND number IS NULL;
            END
            """),
        rows(
            "link to a record lost", breaks: [.I6, .I5],
            "a page overwrites what is still to be sent, for want of a link between them",
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
            "cursor runs ahead", breaks: [.I8, .I18, .I5], "the version of a space is saved before its page",
            """
            AFTER UPDATE OF version ON sync_space WHEN NEW.version % 6 = 5 AND NEW.phase = 'complete' BEGIN
                UPDATE sync_space SET version = NEW.version + 1;
            END
            """),
        rows(
            "cursor goes back", breaks: [.I8, .I7], "the version of a space is taken back now and then",
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
            "deletion forgotten", breaks: [.I12, .I5], "a record that the server has deleted comes back to life",
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
            "sweep too wide", breaks: [.I14, .I15, .I5], "records that a snapshot has shown are taken for gone",
            "AFTER INSERT ON sync_seen BEGIN DELETE FROM sync_seen WHERE id = NEW.id; END",
            shape: { $0.rates.compactServer = 0.1 }),
        rows(
            "record version lowered", breaks: [.I7], "a record's version goes back",
            """
            AFTER UPDATE OF version ON customer WHEN NEW.version > OLD.version AND OLD.version > 0 BEGIN
                UPDATE customer SET version = OLD.version - 1 WHERE id = NEW.id;
            END
            """),
        rows(
            "field versions lost", breaks: [.I7, .I5], "a device believes to have seen newer fields than it has",
            """
            AFTER UPDATE OF sync_fields ON customer WHEN NEW.sync_fields NOT NULL BEGIN
                UPDATE customer SET sync_fields = NULL WHERE id = NEW.id;
            END
            """),
        rows(
            "base version lowered", breaks: [.I7, .I5], "the base of a record that is being edited goes back",
            """
            AFTER INSERT ON sync_base WHEN NEW.version > 1 BEGIN
                UPDATE sync_base SET version = 1, field_versions = NULL
                WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "links stay behind", breaks: [.I19], "what an entry referred to stays linked to it when it is gone",
            "BEFORE DELETE ON sync_pending WHEN OLD.link = 'refers' BEGIN SELECT RAISE(IGNORE); END"),
        rows(
            "space of a base lost", breaks: [.I5],
            "a record of one space goes to another with an edit that is refused there",
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
            "space of a record lost", breaks: [.I5], "a record that is shown again goes to the space of its device",
            """
            AFTER UPDATE OF version ON customer WHEN NEW.version > 0 BEGIN
                UPDATE customer SET sync_space = (SELECT min(key) FROM sync_space) WHERE id = NEW.id;
            END
            """, shape: { $0.setting.spaceCount = 2 }),
        rows(
            "uid lost", breaks: [.I13, .I4], "some uids are not written down",
            """
            AFTER UPDATE OF uid ON customer WHEN NEW.uid % 4 = 2 BEGIN
                UPDATE customer SET uid = -1 WHERE id = NEW.id;
            END
            """),
        rows(
            "required reference cleared", breaks: [.I11, .I5], "a picture loses its painter",
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
