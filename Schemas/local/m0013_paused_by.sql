-- The address of the server that asked for the pause. A device that is pointed at another server does not wait for it.
ALTER TABLE sync_contact ADD COLUMN paused_by TEXT;
