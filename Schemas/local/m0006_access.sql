-- 0 where the account may not read the space: nothing that the server has shown of it is kept here.
ALTER TABLE sync_space ADD COLUMN has_access INTEGER NOT NULL DEFAULT 1 CHECK (has_access IN (0, 1));

-- In which space it happened. What the journal says of others' values goes with the access to their space. NULL for a merge
-- that an older build noted: it goes with the access to any.
ALTER TABLE sync_journal ADD COLUMN space TEXT;
UPDATE sync_journal SET space = payload ->> '$.space' WHERE json_valid(payload);
