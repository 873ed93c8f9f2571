-- Transactions can wait for a server that knows their collections and fields. The mass-delete brake counts the records that the
-- server had sent before a snapshot.

-- The collection, or collection.field, that the server does not know yet. NULL unless the entry is held.
ALTER TABLE sync_outbox ADD COLUMN held_for TEXT;
CREATE INDEX sync_outbox_held ON sync_outbox (sequence) WHERE held_for IS NOT NULL;

-- The number of waiting entries that are held.
ALTER TABLE sync_meta ADD COLUMN held INTEGER NOT NULL DEFAULT 0;

-- The collections and fields of the server when entries were last held. At most one row.
CREATE TABLE sync_server_models (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    names TEXT NOT NULL
) STRICT;

-- The number of records that the server had sent when the snapshot in progress began.
ALTER TABLE sync_space ADD COLUMN held_before INTEGER NOT NULL DEFAULT 0;
