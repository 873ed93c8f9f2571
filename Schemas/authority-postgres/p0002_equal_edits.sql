-- As Schemas/authority/m0003_equal_edits.sql.
ALTER TABLE record ADD COLUMN equal_edits BYTEA NOT NULL DEFAULT '' CHECK (length(equal_edits) % 32 = 0);

UPDATE conflict SET recipient = substr(loser, 9) WHERE recipient IS NULL;
