-- The fields at fault of a rejection, separated by commas; NULL when it is not about single fields.
ALTER TABLE sync_journal ADD COLUMN fields TEXT;
