-- A rejected transaction can be restored after a record that it refers to was deleted, even if a pull deleted the record before the
-- server rejected the transaction.

-- The last values of deleted records to which unconfirmed transactions refer. Empty when the outbox is empty.
CREATE TABLE sync_deleted (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    -- The key of the space.
    space INTEGER NOT NULL,
    -- The fields that had a value, as JSON.
    fields TEXT NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;
