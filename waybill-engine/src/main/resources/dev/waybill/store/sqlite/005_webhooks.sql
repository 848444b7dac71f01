PRAGMA user_version = 5;
-- Where events of a tenant are sent, and how far each place has got: the cursor into the outbox, the claim of the sender, the retries of
-- the event that is next.
CREATE TABLE webhook_endpoints (
  tenant_id       TEXT    NOT NULL,
  id              BLOB    NOT NULL,
  url             TEXT    NOT NULL,
  types           TEXT    NOT NULL,
  secret          TEXT    NOT NULL,
  previous_secret TEXT,
  previous_until  INTEGER,
  cursor          TEXT,
  created_at      INTEGER NOT NULL,
  due_at          INTEGER NOT NULL,
  sender          BLOB,
  sender_until    INTEGER,
  failures        INTEGER NOT NULL DEFAULT 0,
  failing_since   INTEGER,
  succeeded_at    INTEGER,
  last_status     INTEGER,
  last_error      TEXT,
  parked          INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1)),
  PRIMARY KEY (tenant_id, id)
) STRICT, WITHOUT ROWID;
