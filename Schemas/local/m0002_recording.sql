-- The flight recorder's ring: lines of JSON, described in Schemas/recording. The oldest segments are deleted first.

-- A segment can be replayed without the others. A row has the line at which its replay begins, and counts of the lines after it.
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
