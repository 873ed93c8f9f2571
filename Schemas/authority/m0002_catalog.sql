-- The models with which the records were written, as Schemas/catalog describes them. A server compares its own with them before
-- it serves.
CREATE TABLE catalog (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    models TEXT NOT NULL
) STRICT;
