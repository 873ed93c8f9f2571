-- What only a lost history of the server had is offered in the journal (I15). No transaction of this device need be behind
-- it, so `sequence` may be NULL.
CREATE TABLE sync_journal_next (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    sequence INTEGER,
    event TEXT NOT NULL CHECK (event IN ('rejected', 'merged', 'overwritten', 'cancelled', 'forgotten')),
    state TEXT NOT NULL CHECK (state IN ('active', 'resent', 'dismissed')),
    -- The transaction, as JSON; NULL for a merged one. For an overwritten one: what would make a deleted record again.
    payload TEXT,
    -- The reason of a rejection.
    code TEXT,
    message TEXT,
    mutation INTEGER
) STRICT;
-- Numbers are not given twice, also not those of entries that are gone.
INSERT INTO sqlite_sequence (name, seq) SELECT 'sync_journal_next', seq FROM sqlite_sequence WHERE name = 'sync_journal';
INSERT INTO sync_journal_next SELECT number, at, sequence, event, state, payload, code, message, mutation FROM sync_journal;
DROP TABLE sync_journal;
ALTER TABLE sync_journal_next RENAME TO sync_journal;
CREATE INDEX sync_journal_sequence ON sync_journal (sequence);

-- The versions that records and their fields had in a lost history of the server, until the history that replaced it has
-- shown what it knows of them.
CREATE TABLE sync_former (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    version INTEGER NOT NULL,
    -- NULL where all fields have that version.
    field_versions BLOB,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

-- Whose uid it was in a lost history: asked for each row of a page that may bring old numbers again. Without `collection`,
-- as SQLite then looks for one uid; with it, it walks through a whole collection. Empty but after a restore.
CREATE INDEX sync_base_uid ON sync_base (uid) WHERE version = 0 AND uid >= 0;
