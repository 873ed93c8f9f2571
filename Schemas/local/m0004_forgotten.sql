-- Data that a restored server has lost is offered in the journal (I15). Such an entry may have no transaction of this device, so
-- `sequence` may be NULL.
CREATE TABLE sync_journal_next (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    sequence INTEGER,
    event TEXT NOT NULL CHECK (event IN ('rejected', 'merged', 'overwritten', 'cancelled', 'forgotten')),
    state TEXT NOT NULL CHECK (state IN ('active', 'restored', 'dismissed')),
    -- The transaction, as JSON; NULL for a merged one. For an overwritten one: what would make a deleted record again.
    payload TEXT,
    -- The reason of a rejection.
    code TEXT,
    message TEXT,
    mutation INTEGER
) STRICT;
-- Numbers are never reused, not even those of deleted entries.
INSERT INTO sqlite_sequence (name, seq) SELECT 'sync_journal_next', seq FROM sqlite_sequence WHERE name = 'sync_journal';
INSERT INTO sync_journal_next SELECT number, at, sequence, event, state, payload, code, message, mutation FROM sync_journal;
DROP TABLE sync_journal;
ALTER TABLE sync_journal_next RENAME TO sync_journal;
CREATE INDEX sync_journal_sequence ON sync_journal (sequence);

-- The versions of records and their fields in a lost history of the server. They are kept until the new history has sent its
-- state of these records.
CREATE TABLE sync_former (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    version INTEGER NOT NULL,
    -- NULL where all fields have that version.
    field_versions BLOB,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

-- Finds the record that had a uid in a lost history. The lookup runs for each row of a page that may reuse old uids. The index omits
-- `collection`, so that SQLite looks for one uid; with it, SQLite scans a whole collection. Empty except after a restore.
CREATE INDEX sync_base_uid ON sync_base (uid) WHERE version = 0 AND uid >= 0;
