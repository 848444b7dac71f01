-- The last field of the queue that had no index of its own.
CREATE INDEX effect_open_attempt ON effect_open (tenant_id COLLATE "POSIX", attempt);
