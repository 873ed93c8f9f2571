-- Edits that set the value that a field already had, without having seen it. If the value loses, their clients get a notice, too.
-- For each: the position in `fields` 8, time 8, client 16.
ALTER TABLE record ADD COLUMN equal_edits BLOB NOT NULL DEFAULT x'' CHECK (length(equal_edits) % 32 = 0);

-- Every conflict has a notice for the client whose value lost, also if the outcome of its push reports the conflict.
UPDATE conflict SET recipient = substr(loser, 9) WHERE recipient IS NULL;
