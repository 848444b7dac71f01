PRAGMA user_version = 2;

-- Content that one effect alone may have (semantics.md section 6). Who inserts first holds it; the primary key decides.
CREATE TABLE effect_guards (
  tenant_id   TEXT    NOT NULL,
  scope       TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  content     TEXT    NOT NULL,
  instance_id BLOB    NOT NULL,
  path        TEXT    NOT NULL,
  attempt     INTEGER NOT NULL,
  receipt_id  BLOB    NOT NULL,
  at          INTEGER NOT NULL,
  expires_at  INTEGER,
  PRIMARY KEY (tenant_id, scope, kind, fingerprint, content)
) STRICT, WITHOUT ROWID;
CREATE INDEX effect_guards_holder ON effect_guards (tenant_id, instance_id, path);

-- Invariants that a version was given after it was published; those of the document stand in the document.
CREATE TABLE invariants (
  tenant_id   TEXT    NOT NULL,
  sequence_id BLOB    NOT NULL,
  name        TEXT    NOT NULL,
  definition  TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, sequence_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE invariant_results (
  seq           INTEGER PRIMARY KEY,
  tenant_id     TEXT    NOT NULL,
  instance_id   BLOB    NOT NULL,
  invariant     TEXT    NOT NULL,
  rule          TEXT    NOT NULL,
  path          TEXT    NOT NULL,
  held          INTEGER NOT NULL CHECK (held IN (0, 1)),
  details       TEXT    NOT NULL,
  transition_id BLOB    NOT NULL,
  at            INTEGER NOT NULL
) STRICT;
CREATE INDEX invariant_results_instance ON invariant_results (tenant_id, instance_id, seq);

CREATE TRIGGER invariants_no_update BEFORE UPDATE ON invariants BEGIN SELECT RAISE(ABORT, 'invariants is append-only'); END;
CREATE TRIGGER invariants_no_delete BEFORE DELETE ON invariants BEGIN SELECT RAISE(ABORT, 'invariants is append-only'); END;
CREATE TRIGGER invariant_results_no_update BEFORE UPDATE ON invariant_results
  BEGIN SELECT RAISE(ABORT, 'invariant_results is append-only'); END;
CREATE TRIGGER invariant_results_no_delete BEFORE DELETE ON invariant_results
  BEGIN SELECT RAISE(ABORT, 'invariant_results is append-only'); END;
