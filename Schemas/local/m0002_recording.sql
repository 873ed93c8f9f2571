-- The flight recorder's ring: lines of JSON as Schemas/recording describes them. What the oldest segments say goes first.

-- Segments can be understood each by itself: the line at which a replay can begin, and counts of what follows it.
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
