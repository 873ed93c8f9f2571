-- The authority's database: the history of one server. Names are names of the model. Ids are the 16 bytes of a UUID. Numbers in
-- blobs are big-endian.

-- The identity of the history, the secret key that authenticates its cursors, the last value of the server's hybrid clock (all 64
-- bits), and the revision counters of the models and the members.
CREATE TABLE server (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    epoch TEXT NOT NULL CHECK (length(epoch) BETWEEN 1 AND 64),
    key BLOB NOT NULL CHECK (length(key) = 32),
    clock INTEGER NOT NULL,
    catalog_revision INTEGER NOT NULL DEFAULT 0,
    member_revision INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The models with which the records were written, as Schemas/catalog describes them. A server compares its own with them before
-- it serves.
CREATE TABLE catalog (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    models TEXT NOT NULL
) STRICT;

-- The extent of the change feed of each space: its newest version, and its horizon, the oldest version from which it is complete,
-- with the fingerprint of the history up to the horizon, and the size of all changes up to there, in bytes.
CREATE TABLE space (
    name TEXT PRIMARY KEY,
    head INTEGER NOT NULL,
    horizon INTEGER NOT NULL,
    horizon_chain BLOB NOT NULL DEFAULT (zeroblob(16)) CHECK (length(horizon_chain) = 16),
    horizon_bytes INTEGER NOT NULL DEFAULT 0,
    CHECK (0 <= horizon AND horizon <= head)
) STRICT, WITHOUT ROWID;

-- Members of each space with their roles. A space that has members is accessible only to them.
CREATE TABLE member (
    space TEXT NOT NULL,
    principal TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('reader', 'writer')),
    PRIMARY KEY (space, principal)
) STRICT, WITHOUT ROWID;

-- Live and deleted records. A deleted record keeps its id and uid forever, so that neither is reused.
CREATE TABLE record (
    collection TEXT NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 16),
    uid INTEGER NOT NULL CHECK (uid >= 0),
    space TEXT NOT NULL,
    -- The last commit that touched the record.
    version INTEGER NOT NULL CHECK (version >= 0),
    -- Version 8, time 8, client 16, incarnation 8, time as the client claimed it 8.
    creation BLOB NOT NULL CHECK (length(creation) = 48),
    -- Time 8, client 16; null while the record is alive.
    deletion BLOB CHECK (length(deletion) = 24),
    -- The fields that an edit has named, as one JSON object.
    fields TEXT NOT NULL,
    -- For each of `fields`, in the order of their names: version 8, time 8, client 16, incarnation 8. Empty when all are
    -- as created.
    origins BLOB NOT NULL CHECK (length(origins) % 40 = 0),
    -- Edits that set a value equal to the current one without having seen it. If that value later loses a conflict, their clients
    -- are notified, too. For each: the position in `fields` 8, time 8, client 16.
    equal_edits BLOB NOT NULL DEFAULT x'' CHECK (length(equal_edits) % 32 = 0),
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX record_by_uid ON record (collection, uid);

-- The order in which a snapshot reads the records.
CREATE INDEX record_alive ON record (space, collection, id) WHERE deletion IS NULL;

-- The next uid of each collection.
CREATE TABLE uid_counter (
    collection TEXT PRIMARY KEY,
    next INTEGER NOT NULL CHECK (next >= 0)
) STRICT, WITHOUT ROWID;

-- References between live records, with the field of each.
CREATE TABLE reference (
    target_collection TEXT NOT NULL,
    target_id BLOB NOT NULL CHECK (length(target_id) = 16),
    collection TEXT NOT NULL,
    field TEXT NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 16),
    PRIMARY KEY (target_collection, target_id, collection, field, id)
) STRICT, WITHOUT ROWID;

-- The change feed: each commit with the fields that it changed, and its author. This table and `outcome` have rowids, because their
-- rows may be long: in a table without rowids, SQLite reads a whole row to compare its key.
CREATE TABLE change_feed (
    space TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    -- The fingerprint of the history up to this commit: a hash over the chain before it, and the commit. It stands before the
    -- changes, which may be long, so that SQLite need not read them to find it.
    chain BLOB NOT NULL CHECK (length(chain) = 16),
    -- The size of all changes of the space up to this commit, in bytes. The difference of two values is the size of the
    -- commits between them.
    total_bytes INTEGER NOT NULL,
    -- How many changes, and what they are, as a JSON array.
    changed INTEGER NOT NULL CHECK (changed > 0),
    changes TEXT NOT NULL,
    principal TEXT NOT NULL,
    client BLOB NOT NULL CHECK (length(client) = 16),
    incarnation INTEGER NOT NULL,
    number INTEGER NOT NULL,
    -- The server's wall clock, in milliseconds since 1970.
    at INTEGER NOT NULL,
    PRIMARY KEY (space, version)
) STRICT;

-- The principal that first used each client id. No other principal can push with it. `replaced_by` is the client id with which the
-- device continued, or the id itself if an operator released it. Replaced ids do not count toward the device limit.
CREATE TABLE client (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    principal TEXT NOT NULL,
    replaced_by BLOB CHECK (length(replaced_by) = 16)
) STRICT, WITHOUT ROWID;
-- Counts the devices of an account without reading those of others.
CREATE INDEX client_by_principal ON client (principal) WHERE replaced_by IS NULL;

-- The next transaction number of each client, and the number below which it has acknowledged all outcomes. The principal is part
-- of the key.
CREATE TABLE ledger (
    principal TEXT NOT NULL,
    client BLOB NOT NULL CHECK (length(client) = 16),
    incarnation INTEGER NOT NULL CHECK (incarnation >= 0),
    next INTEGER NOT NULL,
    acknowledged INTEGER NOT NULL,
    PRIMARY KEY (principal, client, incarnation),
    CHECK (0 <= acknowledged AND acknowledged <= next)
) STRICT, WITHOUT ROWID;

-- The outcomes of unacknowledged transactions, and of up to 200 transactions before them, as long as they are not too large.
CREATE TABLE outcome (
    principal TEXT NOT NULL,
    client BLOB NOT NULL CHECK (length(client) = 16),
    incarnation INTEGER NOT NULL,
    number INTEGER NOT NULL,
    hash TEXT NOT NULL,
    -- The size of `outcome`.
    bytes INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (principal, client, incarnation, number)
) STRICT;

-- Fields on which two edits, or an edit and a delete, conflicted, with the losing value.
CREATE TABLE conflict (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    space TEXT NOT NULL,
    version INTEGER NOT NULL,
    collection TEXT NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 16),
    field TEXT NOT NULL,
    rule TEXT NOT NULL,
    -- The size of `field_values`.
    bytes INTEGER NOT NULL,
    -- {"base":…,"loser":…,"winner":…}
    field_values TEXT NOT NULL,
    -- Time 8, client 16.
    winner BLOB NOT NULL CHECK (length(winner) = 24),
    loser BLOB NOT NULL CHECK (length(loser) = 24),
    -- The client whose value lost, to which the notice is addressed.
    recipient BLOB NOT NULL CHECK (length(recipient) = 16),
    -- The author of the push that caused the conflict.
    principal TEXT NOT NULL,
    client BLOB NOT NULL CHECK (length(client) = 16),
    incarnation INTEGER NOT NULL,
    transaction_number INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX conflict_by_space ON conflict (space, number);
CREATE INDEX conflict_by_recipient ON conflict (recipient, space, number);

-- The stored conflicts of each recipient, so that counting them reads none. `removed` is the number of the newest one that was
-- removed because there were too many: the recipient learns that notices are missing.
CREATE TABLE conflict_total (
    recipient BLOB NOT NULL CHECK (length(recipient) = 16),
    space TEXT NOT NULL,
    conflicts INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (recipient, space)
) STRICT, WITHOUT ROWID;
