-- The account that the database belongs to: the one under which it first contacted a server. NULL until then.
ALTER TABLE sync_meta ADD COLUMN account TEXT;
