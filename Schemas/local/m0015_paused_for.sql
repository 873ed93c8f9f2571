-- The length of the pause in milliseconds. If more than that is left of it, the clock has been set back.
ALTER TABLE sync_contact ADD COLUMN paused_for INTEGER;
