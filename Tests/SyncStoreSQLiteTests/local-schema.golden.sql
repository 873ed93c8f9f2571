CREATE TABLE "avatars" (
    sync_row INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    uid INTEGER NOT NULL,
    version INTEGER NOT NULL,
    sync_space INTEGER NOT NULL,
    sync_fields BLOB,
    sync_unknown TEXT,
    "author" BLOB,
    "kind" TEXT
) STRICT;

CREATE VIEW "avatars_shown" AS SELECT
    lower(hex(substr(live.id, 1, 4)) || '-' || hex(substr(live.id, 5, 2)) || '-' || hex(substr(live.id, 7, 2)) || '-' || hex(substr(live.id, 9, 2)) || '-' || hex(substr(live.id, 11, 6))) AS id,
    live.uid, live.version,
    EXISTS (SELECT 1 FROM sync_pending WHERE collection = 'avatars' AND id = live.id
        AND link = 'changes') AS sync_is_pending,
    iif(live."author" IS NULL, NULL, lower(hex(substr(live."author", 1, 4)) || '-' || hex(substr(live."author", 5, 2)) || '-' || hex(substr(live."author", 7, 2)) || '-' || hex(substr(live."author", 9, 2)) || '-' || hex(substr(live."author", 11, 6)))) AS "author",
    live."kind"
FROM "avatars" AS live;

CREATE TABLE sync_base (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    is_deleted INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    version INTEGER NOT NULL,
    field_versions BLOB,
    -- The fields that have a value, as JSON.
    fields TEXT NOT NULL,
    unknown TEXT,
    -- The space in which the server sent the base. It can differ from the space of the entries that change the record, because two
    -- devices may have made one id in two spaces.
    space INTEGER,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_base_uid ON sync_base (uid) WHERE version = 0 AND uid >= 0;

CREATE TABLE sync_catalog (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    models TEXT NOT NULL
) STRICT;

CREATE TABLE sync_confirmed (
    -- The sequence of the transaction, modulo the number of rows that are kept. Below zero for a version that a later history has
    -- shown again.
    slot INTEGER PRIMARY KEY,
    -- The name of the space. A device that stops following a space and follows it again still knows which values it wrote.
    space TEXT NOT NULL,
    version INTEGER NOT NULL
) STRICT;

CREATE TABLE sync_conflict (
    journal INTEGER NOT NULL,
    position INTEGER NOT NULL,
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    field TEXT NOT NULL,
    rule TEXT NOT NULL,
    -- Each value as JSON, under the field's name.
    base TEXT NOT NULL,
    winner TEXT NOT NULL,
    winner_time INTEGER NOT NULL,
    winner_client TEXT NOT NULL,
    winner_account TEXT,
    loser TEXT NOT NULL,
    loser_time INTEGER NOT NULL,
    loser_client TEXT NOT NULL,
    loser_account TEXT,
    PRIMARY KEY (journal, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_conflict_record ON sync_conflict (collection, id);

CREATE TABLE sync_contact (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- When everything was last in sync, and the last failure since then, with the time at which it began.
    last_sync INTEGER,
    failure_code TEXT,
    failure_message TEXT,
    failure_at INTEGER,
    -- The end of the pause that a server asked for, and its length in milliseconds. If the remaining time exceeds the length, the
    -- clock has been set back.
    paused_until INTEGER,
    paused_for INTEGER,
    -- The address of that server. A device that is pointed at another server does not wait for it.
    paused_by TEXT
) STRICT;

CREATE TABLE sync_deleted (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    -- The key of the space.
    space INTEGER NOT NULL,
    -- The fields that had a value, as JSON.
    fields TEXT NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sync_dropped_reference (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    field TEXT NOT NULL,
    target BLOB NOT NULL,
    held BLOB,
    PRIMARY KEY (collection, id, field)
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_dropped_reference_by_target ON sync_dropped_reference (target);

CREATE TABLE sync_field (
    collection TEXT NOT NULL,
    position INTEGER NOT NULL,
    field TEXT NOT NULL,
    type TEXT NOT NULL,
    -- For a reference: the collection that it points into.
    target TEXT,
    -- Root page of the table. A lost schema can be borrowed from a new database only if the root pages match.
    root INTEGER NOT NULL,
    PRIMARY KEY (collection, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE sync_foreign (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    space INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    version INTEGER NOT NULL,
    -- The fields that have a value, as JSON.
    fields TEXT NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sync_foreign_space ON sync_foreign (space);

CREATE TABLE sync_former (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    version INTEGER NOT NULL,
    -- NULL where all fields have that version.
    field_versions BLOB,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sync_former_client (
    position INTEGER PRIMARY KEY,
    client TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE sync_journal (
    -- Never reused, not even the number of a deleted entry.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    -- NULL for lost and overwritten values, and for removed notices.
    sequence INTEGER,
    event TEXT NOT NULL CHECK (event IN ('rejected', 'merged', 'overwritten', 'notices_removed', 'cancelled', 'lost')),
    state TEXT NOT NULL CHECK (state IN ('active', 'restored', 'dismissed')),
    -- The space of the entry. When the account loses access to a space, the values of others in its entries are removed. NULL where
    -- a salvage could not read it. Then it is read as `default`, but a loss of access to any space affects the entry.
    space TEXT,
    -- The transaction, as JSON; NULL for a merged one and for removed notices. For an overwritten one: the creates that restore its
    -- deleted records, or NULL if there are none.
    payload TEXT,
    -- Creates of the records that the entry's transaction changes, in the state that was shown, so that it can be restored after
    -- they were deleted. NULL if it changes no record that a server has sent.
    records TEXT,
    -- The reason of a rejection, and the fields at fault, separated by commas; NULL when it is not about single fields.
    code TEXT,
    message TEXT,
    mutation INTEGER,
    fields TEXT,
    -- For a lost entry: 1 if this device wrote its values, as far as it knows. They stay when the account loses access to the space.
    own INTEGER NOT NULL DEFAULT 0 CHECK (own IN (0, 1)),
    -- For a lost entry of which this device wrote only a part: that part, as a transaction in JSON. It takes the place of the whole
    -- when the account loses access to the space.
    own_part TEXT,
    -- The size of the texts in bytes: payload, records, own part, reason, and both sides of the conflicts.
    bytes INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX sync_journal_active ON sync_journal (number) WHERE state = 'active';

CREATE INDEX sync_journal_handled ON sync_journal (number) WHERE state <> 'active';

CREATE INDEX sync_journal_sequence ON sync_journal (sequence);

CREATE TABLE sync_meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    -- (client, incarnation) identifies this device in pushes; next_number is the number of the next transaction to be sent.
    client TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    -- The sequence of the newest entry that the outbox has ever had. No sequence is used again.
    last_sequence INTEGER NOT NULL DEFAULT 0,
    -- The identity of the server's history; NULL before the first contact.
    epoch TEXT,
    -- The device's hybrid logical clock: wall-clock milliseconds << 16 | counter.
    clock INTEGER NOT NULL,
    -- How many milliseconds the server's clock was ahead of the device's at the last contact; NULL before the first.
    clock_offset INTEGER,
    -- The account that the database belongs to. Until data is exchanged, the account of the last hello; fixed afterward. NULL before
    -- the first contact.
    account TEXT,
    -- 1 once anything was sent to a server or came from one. Until then, another account may take the database.
    has_exchanged INTEGER NOT NULL DEFAULT 0 CHECK (has_exchanged IN (0, 1)),
    -- Counts of the outbox and the journal, kept in the transactions that change them.
    waiting INTEGER NOT NULL DEFAULT 0,
    sent INTEGER NOT NULL DEFAULT 0,
    answered INTEGER NOT NULL DEFAULT 0,
    outbox_bytes INTEGER NOT NULL DEFAULT 0,
    -- Of the waiting ones, those that are held.
    held INTEGER NOT NULL DEFAULT 0,
    journal_entries INTEGER NOT NULL DEFAULT 0,
    journal_bytes INTEGER NOT NULL DEFAULT 0,
    -- The unhandled entries of the journal.
    active_journal_entries INTEGER NOT NULL DEFAULT 0,
    active_journal_bytes INTEGER NOT NULL DEFAULT 0,
    -- The newest transaction of the outbox whose fate is unknown, because the journal no longer has its entry.
    fate_unknown_up_to INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE sync_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;

CREATE TABLE sync_outbox (
    sequence INTEGER PRIMARY KEY,
    space TEXT NOT NULL,
    -- The transaction, as JSON. Frozen once number is set.
    payload TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    -- FNV-1a of the payload, 64 bits. The outbox has the only copy of a write, and SQLite does not notice a changed bit in it.
    checksum INTEGER NOT NULL,
    -- NULL until first sent.
    number INTEGER,
    -- The numbers under which earlier identities have sent it, oldest first: client/incarnation/number/hash, separated by
    -- spaces. NULL when none has.
    formerly TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- The version at which the server applied it; NULL until answered.
    version INTEGER,
    -- Milliseconds since 1970. Lowered when the device's clock turns out to have been ahead.
    written_at INTEGER NOT NULL,
    -- The server's reason for refusing the transaction. An empty transaction is then sent under its number.
    refusal_code TEXT,
    refusal_message TEXT,
    -- The collection, or collection.field, that the server does not know yet. NULL unless the entry is held.
    held_for TEXT
) STRICT;

CREATE INDEX sync_outbox_answered ON sync_outbox (space, version) WHERE version IS NOT NULL;

CREATE INDEX sync_outbox_held ON sync_outbox (sequence) WHERE held_for IS NOT NULL;

CREATE UNIQUE INDEX sync_outbox_number ON sync_outbox (number) WHERE number IS NOT NULL;

CREATE TABLE sync_pending (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    sequence INTEGER NOT NULL,
    link TEXT NOT NULL CHECK (link IN ('changes', 'refers')),
    PRIMARY KEY (collection, id, sequence, link)
) STRICT, WITHOUT ROWID;

CREATE TABLE sync_recording_segment (
    segment INTEGER PRIMARY KEY AUTOINCREMENT,
    start TEXT NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,
    -- Of all its lines.
    bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE sync_recording_turn (
    segment INTEGER NOT NULL,
    position INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (segment, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX "sync_ref_avatars.author" ON "avatars" ("author");

CREATE TABLE sync_replacement (
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    replacement BLOB NOT NULL,
    PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sync_seen (
    space INTEGER NOT NULL,
    collection TEXT NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY (space, collection, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sync_server_models (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    names TEXT NOT NULL
) STRICT;

CREATE TABLE sync_space (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Opaque, made by the server; NULL before the first page.
    cursor TEXT,
    version INTEGER NOT NULL DEFAULT 0,
    -- 0 if the account may not read the space. The database then has nothing that the server sent for it.
    has_access INTEGER NOT NULL DEFAULT 1 CHECK (has_access IN (0, 1)),
    -- The newest receipt of the server's current history, and the version that it proves. It stays after the cursor has reached that
    -- version, because the server can still be restored to a state before it.
    receipt TEXT,
    receipt_version INTEGER CHECK ((receipt IS NULL) = (receipt_version IS NULL)),
    -- The number of the last notice of a lost value that is in the journal, and the fingerprint that tells it from another one
    -- that a restored server has given the same number.
    notice INTEGER NOT NULL DEFAULT 0,
    notice_fingerprint BLOB,
    -- empty, snapshot (its pages are coming), catching_up (to complete_at), complete
    phase TEXT NOT NULL DEFAULT 'empty' CHECK (phase IN ('empty', 'snapshot', 'catching_up', 'complete')),
    complete_at INTEGER NOT NULL DEFAULT 0,
    -- 1 while a snapshot is applied over existing rows; sync_seen then lists the records that it contained.
    marks INTEGER NOT NULL DEFAULT 0,
    -- Progress of the snapshot: the collections received, in their order and separated by spaces, the last record id, and the row
    -- count. The next page continues there.
    shown_collections TEXT NOT NULL DEFAULT '',
    shown_last BLOB,
    shown_rows INTEGER NOT NULL DEFAULT 0,
    -- The number of records that the server had sent when the snapshot began, for the mass-delete brake.
    held_before INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX "sync_uid_avatars" ON "avatars" (uid) WHERE uid >= 0;

CREATE UNIQUE INDEX "sync_uid_users" ON "users" (uid) WHERE uid >= 0;

CREATE TABLE sync_unfollowed (
    name TEXT NOT NULL PRIMARY KEY,
    receipt TEXT NOT NULL,
    receipt_version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE "users" (
    sync_row INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
    uid INTEGER NOT NULL,
    version INTEGER NOT NULL,
    sync_space INTEGER NOT NULL,
    sync_fields BLOB,
    sync_unknown TEXT,
    "username" TEXT,
    "age" INTEGER,
    "active" INTEGER,
    "weight" REAL,
    "avatar" BLOB
) STRICT;

CREATE VIEW "users_shown" AS SELECT
    lower(hex(substr(live.id, 1, 4)) || '-' || hex(substr(live.id, 5, 2)) || '-' || hex(substr(live.id, 7, 2)) || '-' || hex(substr(live.id, 9, 2)) || '-' || hex(substr(live.id, 11, 6))) AS id,
    live.uid, live.version,
    EXISTS (SELECT 1 FROM sync_pending WHERE collection = 'users' AND id = live.id
        AND link = 'changes') AS sync_is_pending,
    live."username",
    live."age",
    live."active",
    live."weight",
    iif(live."avatar" IS NULL, NULL, lower(hex(substr(live."avatar", 1, 4)) || '-' || hex(substr(live."avatar", 5, 2)) || '-' || hex(substr(live."avatar", 7, 2)) || '-' || hex(substr(live."avatar", 9, 2)) || '-' || hex(substr(live."avatar", 11, 6)))) AS "avatar"
FROM "users" AS live;
