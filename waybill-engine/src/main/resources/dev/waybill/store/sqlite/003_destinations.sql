PRAGMA user_version = 3;

-- Destinations that are held (docs/destinations.md): N unknowns in T stop new dispatches there until a probe is answered, or a person says so.
CREATE TABLE destination_holds (
  tenant_id     TEXT    NOT NULL,
  destination   TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  held          INTEGER NOT NULL CHECK (held IN (0, 1)),
  since         INTEGER NOT NULL,
  probe_at      INTEGER, -- when a dispatch is let through; null = only a person releases it
  probe_receipt BLOB,
  actor         TEXT    NOT NULL,
  reason        TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, destination)
) STRICT, WITHOUT ROWID;

-- What counts towards a hold: receipts that became unknown lately at a destination with a policy. Pruned by whoever adds to it.
CREATE TABLE destination_unknowns (
  tenant_id   TEXT    NOT NULL,
  destination TEXT    NOT NULL,
  receipt_id  BLOB    NOT NULL,
  at          INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, destination, receipt_id)
) STRICT, WITHOUT ROWID;
