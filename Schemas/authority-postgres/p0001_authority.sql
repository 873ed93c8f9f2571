-- The authority's tables in PostgreSQL, in their own schema. They correspond to those of `authority/` for SQLite, with the types of
-- PostgreSQL. Two things differ: `server.singleton` is `server.only` in SQLite, and `change_feed` has its columns in another order.
-- Names are names of the model, and sort by their bytes. Ids are the 16 bytes of a UUID. Numbers in blobs are big-endian.

-- The identity of the history, the secret key that authenticates its cursors, the last value of the server's hybrid clock (all 64
-- bits), and the revision counters of the models and the members.
CREATE TABLE server (
    singleton BIGINT PRIMARY KEY CHECK (singleton = 1),
    epoch TEXT COLLATE "C" NOT NULL CHECK (length(epoch) BETWEEN 1 AND 64),
    key BYTEA NOT NULL CHECK (length(key) = 32),
    clock BIGINT NOT NULL,
    catalog_revision BIGINT NOT NULL DEFAULT 0,
    member_revision BIGINT NOT NULL DEFAULT 0
);

-- The extent of the change feed of each space: its newest version, and its horizon, the oldest version from which it is complete,
-- with the fingerprint of the history up to the horizon, and the size of all changes up to there, in bytes.
CREATE TABLE space (
    name TEXT COLLATE "C" PRIMARY KEY,
    head BIGINT NOT NULL,
    horizon BIGINT NOT NULL,
    horizon_chain BYTEA NOT NULL DEFAULT decode(repeat('00', 16), 'hex') CHECK (length(horizon_chain) = 16),
    horizon_bytes BIGINT NOT NULL DEFAULT 0,
    CHECK (0 <= horizon AND horizon <= head)
);

-- Members of each space with their roles. A space that has members is accessible only to them.
CREATE TABLE member (
    space TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('reader', 'writer')),
    PRIMARY KEY (space, principal)
);

-- Live and deleted records. A deleted record keeps its id and uid forever, so that neither is reused.
CREATE TABLE record (
    collection TEXT COLLATE "C" NOT NULL,
    id BYTEA NOT NULL CHECK (length(id) = 16),
    uid BIGINT NOT NULL CHECK (uid >= 0),
    space TEXT COLLATE "C" NOT NULL,
    -- The last commit that touched the record.
    version BIGINT NOT NULL CHECK (version >= 0),
    -- Version 8, time 8, client 16, incarnation 8, time as the client claimed it 8.
    creation BYTEA NOT NULL CHECK (length(creation) = 48),
    -- Time 8, client 16; null while the record is alive.
    deletion BYTEA CHECK (length(deletion) = 24),
    -- The fields that an edit has named, as one JSON object.
    fields TEXT COLLATE "C" NOT NULL,
    -- For each of `fields`, in the order of their names: version 8, time 8, client 16, incarnation 8. Empty when all are
    -- as created.
    origins BYTEA NOT NULL CHECK (length(origins) % 40 = 0),
    -- Edits that set a value equal to the current one without having seen it. If that value later loses a conflict, their clients
    -- are notified, too. For each: the position in `fields` 8, time 8, client 16.
    equal_edits BYTEA NOT NULL DEFAULT '' CHECK (length(equal_edits) % 32 = 0),
    PRIMARY KEY (collection, id)
);

CREATE UNIQUE INDEX record_by_uid ON record (collection, uid);

-- The order in which a snapshot reads the records.
CREATE INDEX record_alive ON record (space, collection, id) WHERE deletion IS NULL;

-- The next uid of each collection.
CREATE TABLE uid_counter (
    collection TEXT COLLATE "C" PRIMARY KEY,
    next BIGINT NOT NULL CHECK (next >= 0)
);

-- References between live records, with the field of each.
CREATE TABLE reference (
    target_collection TEXT COLLATE "C" NOT NULL,
    target_id BYTEA NOT NULL CHECK (length(target_id) = 16),
    collection TEXT COLLATE "C" NOT NULL,
    field TEXT COLLATE "C" NOT NULL,
    id BYTEA NOT NULL CHECK (length(id) = 16),
    PRIMARY KEY (target_collection, target_id, collection, field, id)
);

-- The change feed: each commit with the fields that it changed, and its author.
CREATE TABLE change_feed (
    space TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    -- How many changes, and what they are, as a JSON array.
    changed BIGINT NOT NULL CHECK (changed > 0),
    changes TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    client BYTEA NOT NULL CHECK (length(client) = 16),
    incarnation BIGINT NOT NULL,
    number BIGINT NOT NULL,
    -- The server's wall clock, in milliseconds since 1970.
    at BIGINT NOT NULL,
    -- The fingerprint of the history up to this commit: a hash over the chain before it, and the commit.
    chain BYTEA NOT NULL CHECK (length(chain) = 16),
    -- The size of all changes of the space up to this commit, in bytes. The difference of two values is the size of the
    -- commits between them.
    total_bytes BIGINT NOT NULL,
    PRIMARY KEY (space, version)
);

-- The principal that first used each client id. No other principal can push with it. `replaced_by` is the client id with which the
-- device continued, or the id itself if an operator released it. Replaced ids do not count toward the device limit.
CREATE TABLE client (
    id BYTEA PRIMARY KEY CHECK (length(id) = 16),
    principal TEXT COLLATE "C" NOT NULL,
    replaced_by BYTEA CHECK (length(replaced_by) = 16)
);
-- Counts the devices of an account without reading those of others.
CREATE INDEX client_by_principal ON client (principal) WHERE replaced_by IS NULL;

-- The next transaction number of each client, and the number below which it has acknowledged all outcomes. The principal is part
-- of the key.
CREATE TABLE ledger (
    principal TEXT COLLATE "C" NOT NULL,
    client BYTEA NOT NULL CHECK (length(client) = 16),
    incarnation BIGINT NOT NULL CHECK (incarnation >= 0),
    next BIGINT NOT NULL,
    acknowledged BIGINT NOT NULL,
    PRIMARY KEY (principal, client, incarnation),
    CHECK (0 <= acknowledged AND acknowledged <= next)
);

-- The outcomes of unacknowledged transactions, and of up to 200 transactions before them, as long as they are not too large.
CREATE TABLE outcome (
    principal TEXT COLLATE "C" NOT NULL,
    client BYTEA NOT NULL CHECK (length(client) = 16),
    incarnation BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    -- The size of `outcome`.
    bytes BIGINT NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (principal, client, incarnation, number)
);

-- Fields on which two edits, or an edit and a delete, conflicted, with the losing value.
CREATE TABLE conflict (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    collection TEXT COLLATE "C" NOT NULL,
    id BYTEA NOT NULL CHECK (length(id) = 16),
    field TEXT COLLATE "C" NOT NULL,
    rule TEXT COLLATE "C" NOT NULL,
    -- The size of `field_values`.
    bytes BIGINT NOT NULL,
    -- {"base":…,"loser":…,"winner":…}
    field_values TEXT COLLATE "C" NOT NULL,
    -- Time 8, client 16.
    winner BYTEA NOT NULL CHECK (length(winner) = 24),
    loser BYTEA NOT NULL CHECK (length(loser) = 24),
    -- The client whose value lost, to which the notice is addressed.
    recipient BYTEA NOT NULL CHECK (length(recipient) = 16),
    -- The author of the push that caused the conflict.
    principal TEXT COLLATE "C" NOT NULL,
    client BYTEA NOT NULL CHECK (length(client) = 16),
    incarnation BIGINT NOT NULL,
    transaction_number BIGINT NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX conflict_by_space ON conflict (space, number);
CREATE INDEX conflict_by_recipient ON conflict (recipient, space, number);

-- The stored conflicts of each recipient, so that counting them reads none. `removed` is the number of the newest one that was
-- removed because there were too many: the recipient learns that notices are missing.
CREATE TABLE conflict_total (
    recipient BYTEA NOT NULL CHECK (length(recipient) = 16),
    space TEXT COLLATE "C" NOT NULL,
    conflicts BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    removed BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (recipient, space)
);

-- The models with which the records were written, as Schemas/catalog describes them. A server compares its own with them before
-- it serves.
CREATE TABLE catalog (
    singleton BIGINT PRIMARY KEY CHECK (singleton = 1),
    models TEXT COLLATE "C" NOT NULL
);

-- Tells every server that a space has new commits, when the transaction commits. The payload is the space and its head.
CREATE FUNCTION announce_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tombolo_' || TG_TABLE_SCHEMA, NEW.name || ' ' || NEW.head);
    RETURN NULL;
END
$$;

CREATE TRIGGER space_head AFTER INSERT OR UPDATE OF head ON space FOR EACH ROW EXECUTE FUNCTION announce_head();
