-- The models of the application that opened the database last, as Schemas/catalog describes them: by them a program that serves any
-- application knows what is here. At most one row.
CREATE TABLE sync_catalog (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    models TEXT NOT NULL
) STRICT;
