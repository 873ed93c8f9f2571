-- A rejected transaction can be restored after the records that it changes were deleted.

-- Creates of the records that the entry's transaction changes, in the state that was shown. NULL if it changes no record that a
-- server has sent.
ALTER TABLE sync_journal ADD COLUMN records TEXT;

-- The records that replaced deleted ones, for entries that still name the deleted ones.
CREATE TABLE sync_replacement (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    replacement BLOB NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;
