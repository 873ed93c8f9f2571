-- 0 if the account may not read the space. The database then has nothing that the server sent for it.
ALTER TABLE sync_space ADD COLUMN has_access INTEGER NOT NULL DEFAULT 1 CHECK (has_access IN (0, 1));

-- The space of the entry. When the account loses access to a space, the values of others in its entries are removed. NULL for a
-- merge that an older build recorded: its values are removed when the account loses access to any space.
ALTER TABLE sync_journal ADD COLUMN space TEXT;
UPDATE sync_journal SET space = payload ->> '$.space' WHERE json_valid(payload);
