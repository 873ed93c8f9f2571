-- The versions of this device's own commits. After a restored server has lost its history, they tell which values this device
-- wrote, even where others have changed the field under a later version since (I15).
CREATE TABLE sync_confirmed (
    -- The sequence of the transaction, modulo the number of rows that are kept.
    slot INTEGER PRIMARY KEY,
    -- The key of the space.
    space INTEGER NOT NULL,
    version INTEGER NOT NULL
) STRICT;
