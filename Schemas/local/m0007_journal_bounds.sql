-- The journal is bounded in entries and bytes. The transactions that change them update both counts.

-- The size of an entry's texts in bytes: payload, reason, and both sides of its conflicts.
ALTER TABLE sync_journal ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE sync_journal SET bytes =
    coalesce(length(CAST(payload AS BLOB)), 0) + coalesce(length(CAST(message AS BLOB)), 0)
    + coalesce((SELECT sum(length(CAST(base AS BLOB)) + length(CAST(winner AS BLOB)) + length(CAST(loser AS BLOB)))
        FROM sync_conflict WHERE journal = sync_journal.number), 0);

ALTER TABLE sync_meta ADD COLUMN journal_entries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sync_meta ADD COLUMN journal_bytes INTEGER NOT NULL DEFAULT 0;
-- The size of the unhandled entries in bytes. Their count is `unseen`.
ALTER TABLE sync_meta ADD COLUMN unseen_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE sync_meta SET
    journal_entries = (SELECT count(*) FROM sync_journal),
    journal_bytes = (SELECT coalesce(sum(bytes), 0) FROM sync_journal),
    unseen_bytes = (SELECT coalesce(sum(bytes), 0) FROM sync_journal WHERE state = 'active');

-- These indexes find a page of entries in one state, and the oldest handled entry, without reading the others.
CREATE INDEX sync_journal_active ON sync_journal (number) WHERE state = 'active';
CREATE INDEX sync_journal_handled ON sync_journal (number) WHERE state <> 'active';
