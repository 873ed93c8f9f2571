import SyncSimulation

extension PlantedBug {
    private static func rows(
        _ name: String, breaks: [Invariant], _ sentence: String, _ body: String,
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in }
    ) -> PlantedBug {
        sql(name, breaks: breaks, sentence, "CREATE TRIGGER IF NOT EXISTS planted \(body)", shape: shape)
    }

    private static func sql(
        _ name: String, breaks: [Invariant], _ sentence: String, _ sql: String,
        shape: @escaping @Sendable (inout WorldPlan) -> Void = { _ in }
    ) -> PlantedBug {
        PlantedBug(name, breaks: breaks, sentence, parts: { .plantingInServer(sql) }, shape: shape)
    }

    /// Bugs in the rows that the server writes.
    static let serverRows: [PlantedBug] = [
        rows(
            "client ids not bound", breaks: [.I21, .I1, .I15],
            "the server does not store which principal owns a client id",
            "AFTER INSERT ON client BEGIN DELETE FROM client WHERE id = NEW.id; END",
            shape: { $0.rates.forgePush = 0.05 }),
        rows(
            "ledger forgotten", breaks: [.I2, .I15, .I16, .I18], "the ledger accepts the last number again",
            """
            AFTER UPDATE OF next ON ledger WHEN NEW.next % 3 = 2 AND NEW.acknowledged < NEW.next BEGIN
                UPDATE ledger SET next = NEW.next - 1
                WHERE principal = NEW.principal AND client = NEW.client AND incarnation = NEW.incarnation;
            END
            """),
        rows(
            "outcome forgotten", breaks: [.I16, .I2],
            "an outcome is pruned before its client has acknowledged it",
            """
            AFTER INSERT ON outcome WHEN NEW.number % 2 = 0 BEGIN
                DELETE FROM outcome WHERE principal = NEW.principal AND client = NEW.client
                    AND incarnation = NEW.incarnation AND number = NEW.number;
            END
            """),
        rows(
            "outcome of another", breaks: [.I2, .I15], "an outcome is remembered with another version",
            """
            AFTER INSERT ON outcome WHEN NEW.outcome LIKE '%"version":%' BEGIN
                UPDATE outcome SET outcome = replace(outcome, '"version":', '"version":1')
                WHERE principal = NEW.principal AND client = NEW.client
                    AND incarnation = NEW.incarnation AND number = NEW.number;
            END
            """),
        rows(
            "record version not raised", breaks: [.I7, .I5, .I4, .I18],
            "a record keeps its old version when it is edited",
            """
            AFTER UPDATE OF version ON record WHEN NEW.version > OLD.version BEGIN
                UPDATE record SET version = OLD.version WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "origins forgotten", breaks: [.I5, .I7, .I6], "the server does not store who wrote a field, and when",
            """
            AFTER UPDATE OF origins ON record WHEN length(NEW.origins) > 0 BEGIN
                UPDATE record SET origins = zeroblob(length(NEW.origins))
                WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "tombstone cleared", breaks: [.I12, .I11, .I5], "a deleted record stays alive on the server",
            """
            AFTER UPDATE OF deletion ON record WHEN NEW.deletion NOT NULL BEGIN
                UPDATE record SET deletion = NULL WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "tombstone dropped", breaks: [.I12, .I13, .I5], "the tombstone of a deleted record is removed",
            """
            AFTER UPDATE OF deletion ON record WHEN NEW.deletion NOT NULL BEGIN
                DELETE FROM record WHERE collection = NEW.collection AND id = NEW.id;
            END
            """,
            shape: {
                // A device must continue to use a record that another device has deleted.
                $0.setting.devices = 4
                $0.rates.dropLink = 0.1
                $0.rates.rollBackDevice = 0.05
            }
        ).rare,
        rows(
            "commit not in the feed", breaks: [.I9, .I18, .I14, .I25], "a commit is missing in the feed",
            """
            AFTER INSERT ON change_feed WHEN NEW.version % 7 = 3 BEGIN
                DELETE FROM change_feed WHERE space = NEW.space AND version = NEW.version;
            END
            """),
        rows(
            "half a commit in the feed", breaks: [.I10, .I9, .I5], "the feed contains only a part of a transaction",
            """
            AFTER INSERT ON change_feed WHEN instr(NEW.changes, '},{"collection":') > 0 BEGIN
                UPDATE change_feed SET changed = 1, changes = substr(changes, 1, instr(changes, '},{"collection":')) || ']'
                WHERE space = NEW.space AND version = NEW.version;
            END
            """),
        rows(
            "feed rewritten", breaks: [.I9, .I8, .I5], "an older commit of the feed is replaced by the newest",
            """
            AFTER INSERT ON change_feed WHEN NEW.version % 5 = 4 BEGIN
                UPDATE change_feed SET changes = NEW.changes, changed = NEW.changed
                WHERE space = NEW.space AND version = NEW.version - 2;
            END
            """),
        rows(
            "head ahead of the feed", breaks: [.I9, .I18, .I14, .I25], "a version is assigned without a commit",
            """
            AFTER UPDATE OF head ON space WHEN NEW.head % 9 = 8 BEGIN
                UPDATE space SET head = NEW.head + 1 WHERE name = NEW.name;
            END
            """),
        rows(
            "horizon not moved", breaks: [.I14, .I18, .I9, .I25], "the feed is trimmed, and its horizon stays the same",
            """
            AFTER UPDATE OF horizon ON space WHEN NEW.horizon > OLD.horizon BEGIN
                UPDATE space SET horizon = OLD.horizon WHERE name = NEW.name;
            END
            """, shape: { $0.rates.compactServer = 0.1 }),
        rows(
            "horizon moved too far", breaks: [.I14, .I18],
            "the horizon is past commits that the feed still has, so clients start again with a snapshot",
            """
            AFTER UPDATE OF head ON space WHEN NEW.head % 5 = 4 BEGIN
                UPDATE space SET horizon = NEW.head WHERE name = NEW.name;
            END
            """),
        sql(
            "uid given twice", breaks: [.I13], "a uid is assigned twice",
            """
            DROP INDEX IF EXISTS record_by_uid;
            CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF next ON uid_counter WHEN NEW.next % 5 = 4 BEGIN
                UPDATE uid_counter SET next = NEW.next - 1 WHERE collection = NEW.collection;
            END
            """),
        rows(
            "uid changed", breaks: [.I13, .I4], "the uid of a record differs from the one in the outcome of its create",
            """
            AFTER INSERT ON record WHEN NEW.uid % 4 = 3 BEGIN
                UPDATE record SET uid = NEW.uid + 1000 WHERE collection = NEW.collection AND id = NEW.id;
            END
            """),
        rows(
            "reference forgotten", breaks: [.I11], "a record is deleted although another needs it",
            """
            AFTER INSERT ON reference BEGIN
                DELETE FROM reference WHERE target_id = NEW.target_id AND id = NEW.id AND field = NEW.field;
            END
            """,
            shape: {
                // A device must delete a record that an offline device has just started to refer to.
                $0.setting.hasForms = false
                $0.setting.devices = 4
                $0.rates.dropLink = 0.08
                $0.rates.recover = 0.3
            }),
        rows(
            "reference remembered", breaks: [.I17], "a delete is refused for a record that no longer needs its target",
            "BEFORE DELETE ON reference BEGIN SELECT RAISE(IGNORE); END"),
        rows(
            "field of a record lost", breaks: [.I5, .I9],
            "the values of a record on the server differ from those in the feed",
            """
            AFTER INSERT ON record BEGIN
                UPDATE record SET fields = replace(fields, 'text', 'test')
                WHERE collection = NEW.collection AND id = NEW.id AND length(NEW.origins) = 0;
            END
            """, shape: { $0.rates.compactServer = 0.1 }),
    ]
}
