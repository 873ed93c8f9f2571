-- What was refused can be restored after the records that it changes were deleted.

-- Creates of the records that the entry's transaction changes, as they were shown; NULL when it changes none that a server has shown.
ALTER TABLE sync_journal ADD COLUMN records TEXT;

-- The records that were made in the place of deleted ones, for entries that still name those.
CREATE TABLE sync_replacement (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    replacement BLOB NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;
