-- One file is one cell: instances, receipts, the queue, the outbox. Times are microseconds since 1970 on the engine's clock (one engine
-- per file), ids are 16 bytes. Tables whose rows are inserted once keep the rowid: it is the order of insertion.
-- 1466005858 is 'Wayb' as four ASCII bytes: a file that says otherwise is somebody else's.
PRAGMA application_id = 1466005858;
PRAGMA user_version = 1;

CREATE TABLE store_meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO store_meta (name, value) VALUES ('history', lower(hex(randomblob(16))));

CREATE TABLE nodes (
  seq        INTEGER PRIMARY KEY,
  id         BLOB    NOT NULL UNIQUE,
  name       TEXT    NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  fenced     INTEGER NOT NULL CHECK (fenced IN (0, 1))
) STRICT;

CREATE TABLE sequences (
  tenant_id  TEXT    NOT NULL,
  id         BLOB    NOT NULL,
  namespace  TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  deprecated INTEGER NOT NULL CHECK (deprecated IN (0, 1)),
  created_at INTEGER NOT NULL,
  definition TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, namespace, name, version)
) STRICT;

-- Narrow and hot; what is wide and cold stands in instance_data.
CREATE TABLE task_instances (
  tenant_id        TEXT    NOT NULL,
  id               BLOB    NOT NULL,
  state            TEXT    NOT NULL
    CHECK (state IN ('scheduled', 'running', 'waiting', 'paused', 'completed', 'failed', 'cancelled')),
  priority         INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
  next_fire_at     INTEGER,
  claim_epoch      INTEGER NOT NULL,
  claim_nonce      BLOB    NOT NULL,
  claim_node       BLOB,
  wake_seq         INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
  pause_requested  INTEGER NOT NULL CHECK (pause_requested IN (0, 1)),
  takeovers        INTEGER NOT NULL,
  last_transition  BLOB,  -- of the owner's last commit that could not be found by its rows alone
  last_outside     BLOB,  -- of the last move by whoever is not the owner
  updated_at       INTEGER NOT NULL,
  reasons          TEXT,
  outcome          TEXT,
  PRIMARY KEY (tenant_id, id),
  CHECK (claim_node IS NULL OR (next_fire_at IS NULL AND state = 'running'))
) STRICT, WITHOUT ROWID;
CREATE INDEX task_instances_due ON task_instances (tenant_id, priority, next_fire_at, id) WHERE next_fire_at IS NOT NULL;
CREATE INDEX task_instances_owner ON task_instances (claim_node) WHERE claim_node IS NOT NULL;
CREATE INDEX task_instances_attention ON task_instances (tenant_id, state, id) WHERE state IN ('waiting', 'paused', 'failed', 'cancelled');

CREATE TABLE instance_data (
  tenant_id    TEXT    NOT NULL,
  instance_id  BLOB    NOT NULL,
  execution_id BLOB    NOT NULL,
  sequence_id  BLOB    NOT NULL,
  namespace    TEXT    NOT NULL,
  dedup_key    TEXT,
  created_at   INTEGER NOT NULL,
  metadata     TEXT,
  context      TEXT    NOT NULL,
  PRIMARY KEY (tenant_id, instance_id)
) STRICT;
CREATE INDEX instance_data_execution ON instance_data (tenant_id, execution_id);
CREATE INDEX instance_data_sequence ON instance_data (tenant_id, sequence_id, instance_id);

CREATE TABLE dedup_keys (
  tenant_id      TEXT    NOT NULL,
  scope          TEXT    NOT NULL,
  key            TEXT    NOT NULL,
  instance_id    BLOB    NOT NULL,
  payload_sha256 TEXT,
  created_at     INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, scope, key)
) STRICT, WITHOUT ROWID;

-- What was intended, before a byte left. Ids, keys and provider ids come in random order, and an index over all of them would write
-- a page for each entry and a colder one the more receipts there are (measured: 12 of 13 KB of a step). So their indexes lead with the
-- number of the 4,096 receipts they stand in: writes stay in the newest few pages, and a search asks each number in turn, 2 us each.
-- An id is a hash of its position, whose key is unique over all; so is the id then, unless a caller lies across 4,096 receipts.
CREATE TABLE effect_receipts (
  seq                     INTEGER PRIMARY KEY,
  tenant_id               TEXT    NOT NULL,
  instance_id             BLOB    NOT NULL,
  path                    TEXT    NOT NULL,
  attempt                 INTEGER NOT NULL,
  id                      BLOB    NOT NULL,
  execution_id            BLOB    NOT NULL,
  state                   TEXT    NOT NULL CHECK (state IN ('prepared', 'dispatched')),
  kind                    TEXT    NOT NULL CHECK (kind IN ('http', 'model', 'message', 'storage', 'worker', 'custom')),
  handler                 TEXT    NOT NULL,
  destination             TEXT    NOT NULL,
  destination_fingerprint TEXT    NOT NULL,
  idempotency_key         TEXT,
  request_sha256          TEXT    NOT NULL,
  claim_epoch             INTEGER NOT NULL,
  claim_nonce             BLOB    NOT NULL,
  node_id                 BLOB    NOT NULL,
  transition_id           BLOB    NOT NULL,
  at                      INTEGER NOT NULL,
  quiet_at                INTEGER NOT NULL,
  key_window_millis       INTEGER,
  resend_of               BLOB,
  labels                  TEXT,
  request                 TEXT    NOT NULL,
  UNIQUE (tenant_id, instance_id, path, attempt)
) STRICT;
CREATE UNIQUE INDEX effect_receipts_id ON effect_receipts (seq >> 12, tenant_id, id);
CREATE INDEX effect_receipts_key ON effect_receipts (seq >> 12, tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX effect_receipts_newest ON effect_receipts (tenant_id, at, id);

-- Journal, evidence and block output in one row. The key conflict on n is the compare-and-swap; the state is the last row.
CREATE TABLE receipt_journal (
  seq                 INTEGER PRIMARY KEY,
  tenant_id           TEXT    NOT NULL,
  instance_id         BLOB    NOT NULL,
  path                TEXT    NOT NULL,
  attempt             INTEGER NOT NULL,
  n                   INTEGER NOT NULL CHECK (n > 0),
  from_state          TEXT    NOT NULL,
  to_state            TEXT    NOT NULL,
  actor               TEXT    NOT NULL,
  claim_epoch         INTEGER,
  claim_nonce         BLOB,
  transition_id       BLOB    NOT NULL,
  at                  INTEGER NOT NULL,
  proof               TEXT    CHECK (proof IN ('not_sent', 'refused_by_protocol', 'rejected', 'verified_absent')),
  reason              TEXT,
  message             TEXT,
  provider_receipt_id TEXT,
  retry_in_millis     INTEGER,
  counts_as_attempt   INTEGER NOT NULL CHECK (counts_as_attempt IN (0, 1)),
  output_state        TEXT    NOT NULL CHECK (output_state IN ('none', 'saved', 'lost', 'unusable')),
  problem             TEXT,
  output              TEXT,
  reply_status        INTEGER,
  reply_truncated     INTEGER CHECK (reply_truncated IN (0, 1)),
  reply_headers       TEXT,
  reply_body          BLOB,
  UNIQUE (tenant_id, instance_id, path, attempt, n),
  -- Generated from EffectState: the moves there are, and the row that supplies a lost output and moves nothing. StateMachinesPageTest fails when this is stale.
  CHECK (from_state || ' ' || to_state IN (
    'planned prepared', 'planned abandoned',
    'prepared dispatched', 'prepared verified', 'prepared abandoned',
    'dispatched committed', 'dispatched unknown', 'dispatched not_applied',
    'committed compensated',
    'unknown committed', 'unknown not_applied', 'unknown verified', 'unknown compensated', 'unknown abandoned',
    'verified compensated')
    OR from_state = to_state AND to_state IN ('committed', 'verified') AND output_state = 'saved')
) STRICT;
CREATE INDEX receipt_journal_provider ON receipt_journal (seq >> 12, tenant_id, provider_receipt_id) WHERE provider_receipt_id IS NOT NULL;

-- The queue that people and verifiers work from: rare rows, richly indexed, deleted when the receipt leaves the queue.
CREATE TABLE effect_open (
  tenant_id               TEXT    NOT NULL,
  instance_id             BLOB    NOT NULL,
  path                    TEXT    NOT NULL,
  attempt                 INTEGER NOT NULL,
  id                      BLOB    NOT NULL,
  state                   TEXT    NOT NULL CHECK (state IN ('prepared', 'unknown', 'output_lost')),
  at                      INTEGER NOT NULL,
  since                   INTEGER NOT NULL,
  kind                    TEXT    NOT NULL,
  destination             TEXT    NOT NULL,
  destination_fingerprint TEXT    NOT NULL,
  request_sha256          TEXT    NOT NULL,
  claim_epoch             INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, instance_id, path, attempt)
) STRICT, WITHOUT ROWID;
CREATE INDEX effect_open_newest ON effect_open (tenant_id, at, id);
CREATE INDEX effect_open_hash ON effect_open (tenant_id, request_sha256);
CREATE INDEX effect_open_fingerprint ON effect_open (tenant_id, destination_fingerprint);
CREATE INDEX effect_open_epoch ON effect_open (tenant_id, claim_epoch);
CREATE INDEX effect_open_path ON effect_open (tenant_id, path);

CREATE TABLE effect_evidence (
  seq           INTEGER PRIMARY KEY,
  tenant_id     TEXT    NOT NULL,
  instance_id   BLOB    NOT NULL,
  path          TEXT    NOT NULL,
  attempt       INTEGER NOT NULL,
  transition_id BLOB    NOT NULL,
  kind          TEXT    NOT NULL,
  actor         TEXT    NOT NULL,
  at            INTEGER NOT NULL,
  body          TEXT    NOT NULL,
  bytes         BLOB
) STRICT;
CREATE INDEX effect_evidence_effect ON effect_evidence (tenant_id, instance_id, path, attempt);

CREATE TABLE audit_log (
  seq       INTEGER PRIMARY KEY,
  tenant_id TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  actor     TEXT    NOT NULL,
  action    TEXT    NOT NULL,
  subject   TEXT    NOT NULL,
  details   TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_log_tenant ON audit_log (tenant_id, seq);
CREATE INDEX audit_log_subject ON audit_log (tenant_id, subject, seq);

CREATE TABLE block_outputs (
  tenant_id     TEXT    NOT NULL,
  instance_id   BLOB    NOT NULL,
  path          TEXT    NOT NULL,
  n             INTEGER NOT NULL,
  kind          TEXT    NOT NULL CHECK (kind IN ('output', 'error', 'retry', 'timer', 'frame', 'cleared', 'state')),
  due_in_millis INTEGER,
  transition_id BLOB    NOT NULL,
  at            INTEGER NOT NULL,
  body          TEXT,
  PRIMARY KEY (tenant_id, instance_id, path, n)
) STRICT;

-- The outbox. One writer: the order of seq is the order of commits. AUTOINCREMENT, so that a number is never used again once
-- retention took its row.
CREATE TABLE events (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id   TEXT    NOT NULL,
  instance_id BLOB    NOT NULL,
  type        TEXT    NOT NULL,
  subject     TEXT,
  at          INTEGER NOT NULL,
  payload     TEXT    NOT NULL
) STRICT;
CREATE INDEX events_tenant ON events (tenant_id, seq);

-- An effect as people and tools expect to see it: one row for each receipt with its current state; ids and times in words.
CREATE VIEW effects_view AS
SELECT r.tenant_id,
       lower(substr(hex(r.id), 1, 8) || '-' || substr(hex(r.id), 9, 4) || '-' || substr(hex(r.id), 13, 4) || '-'
         || substr(hex(r.id), 17, 4) || '-' || substr(hex(r.id), 21)) AS id,
       lower(substr(hex(r.execution_id), 1, 8) || '-' || substr(hex(r.execution_id), 9, 4) || '-' || substr(hex(r.execution_id), 13, 4)
         || '-' || substr(hex(r.execution_id), 17, 4) || '-' || substr(hex(r.execution_id), 21)) AS execution_id,
       r.claim_epoch AS epoch,
       lower(substr(hex(r.instance_id), 1, 8) || '-' || substr(hex(r.instance_id), 9, 4) || '-' || substr(hex(r.instance_id), 13, 4)
         || '-' || substr(hex(r.instance_id), 17, 4) || '-' || substr(hex(r.instance_id), 21)) AS instance_id,
       r.path AS block_path, r.attempt, r.kind, r.handler, r.destination, r.destination_fingerprint, r.idempotency_key, r.request_sha256,
       r.request, r.labels, coalesce(j.to_state, r.state) AS state, j.proof, j.reason, j.message, j.provider_receipt_id, j.output_state,
       j.output, j.actor,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.at / 1e6, 'unixepoch') AS created_at,
       CASE r.state WHEN 'dispatched' THEN strftime('%Y-%m-%dT%H:%M:%fZ', r.at / 1e6, 'unixepoch') END AS dispatched_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.quiet_at / 1e6, 'unixepoch') AS quiet_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(j.at, r.at) / 1e6, 'unixepoch') AS updated_at
  FROM effect_receipts r
  LEFT JOIN receipt_journal j
    ON (j.tenant_id, j.instance_id, j.path, j.attempt) = (r.tenant_id, r.instance_id, r.path, r.attempt)
   AND j.n = (SELECT max(m.n) FROM receipt_journal m
               WHERE (m.tenant_id, m.instance_id, m.path, m.attempt) = (r.tenant_id, r.instance_id, r.path, r.attempt));

-- What has happened is never rewritten.
CREATE TRIGGER effect_receipts_no_update BEFORE UPDATE ON effect_receipts BEGIN SELECT RAISE(ABORT, 'effect_receipts is append-only'); END;
CREATE TRIGGER effect_receipts_no_delete BEFORE DELETE ON effect_receipts BEGIN SELECT RAISE(ABORT, 'effect_receipts is append-only'); END;
CREATE TRIGGER receipt_journal_no_update BEFORE UPDATE ON receipt_journal BEGIN SELECT RAISE(ABORT, 'receipt_journal is append-only'); END;
CREATE TRIGGER receipt_journal_no_delete BEFORE DELETE ON receipt_journal BEGIN SELECT RAISE(ABORT, 'receipt_journal is append-only'); END;
CREATE TRIGGER effect_evidence_no_update BEFORE UPDATE ON effect_evidence BEGIN SELECT RAISE(ABORT, 'effect_evidence is append-only'); END;
CREATE TRIGGER effect_evidence_no_delete BEFORE DELETE ON effect_evidence BEGIN SELECT RAISE(ABORT, 'effect_evidence is append-only'); END;
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log BEGIN SELECT RAISE(ABORT, 'audit_log is append-only'); END;
CREATE TRIGGER block_outputs_no_update BEFORE UPDATE ON block_outputs BEGIN SELECT RAISE(ABORT, 'block_outputs is append-only'); END;
CREATE TRIGGER block_outputs_no_delete BEFORE DELETE ON block_outputs BEGIN SELECT RAISE(ABORT, 'block_outputs is append-only'); END;
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events is append-only'); END;
