-- The versions of this device's own commits. After a restored server has lost its history, they tell which values this device
-- wrote, even where others have changed the field under a later version since (I15).
CREATE TABLE sync_confirmed (
    -- The sequence of the transaction, modulo the number of rows that are kept.
    slot INTEGER PRIMARY KEY,
    -- The key of the space.
    space INTEGER NOT NULL,
    version INTEGER NOT NULL,
    -- 1 when the version belongs to a lost history.
    is_former INTEGER NOT NULL DEFAULT 0 CHECK (is_former IN (0, 1))
) STRICT;
