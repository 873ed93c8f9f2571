-- The space in which the server sent the base. It can differ from the space of the entries that change the record, because two
-- devices may have made one id in two spaces.
ALTER TABLE sync_base ADD COLUMN space INTEGER;
UPDATE sync_base SET space = (
    SELECT sync_space.key FROM sync_pending
    JOIN sync_outbox ON sync_outbox.sequence = sync_pending.sequence
    JOIN sync_space ON sync_space.name = sync_outbox.space
    WHERE sync_pending.collection = sync_base.collection AND sync_pending.id = sync_base.id AND link = 'changes'
    ORDER BY sync_pending.sequence DESC LIMIT 1);

-- Earlier builds kept the link of an entry to a record that it no longer refers to, and did not delete it with the entry.
DELETE FROM sync_pending WHERE sequence NOT IN (SELECT sequence FROM sync_outbox);
