-- To whom the database belongs: the account under which it first met a server. Null until then.
ALTER TABLE sync_meta ADD COLUMN account TEXT;
