-- The core of a cell: instances, receipts, the queue, the outbox. One schema holds a whole cell, so every name is unqualified.
-- tenant_id leads every key of tenant data, so that rows can move between cells. There are no triggers and no foreign keys: Citus
-- refuses the first, partitions dropped one by one the second. JSON is text, because jsonb rounds nothing but refuses U+0000 and
-- forgets the digits' form; paths, tenants and keys are compared as bytes (COLLATE "C").
-- Secondary indexes that lead with tenant_id have it COLLATE "POSIX": the same order and equality, but only a statement that says so can
-- use them. On empty tables the planner finds every index that begins with the tenant as good as the primary key, and a plan made then
-- would stay: it read all receipts of a tenant to find one (measured).
-- SHA-256 values are bytea: 64 bytes of WAL less for each step than as hex. What is no hex digest stands behind bytes 0xFF.
-- Fixed-width columns stand first, widest first: it saves the padding, about 30 bytes of WAL for each step.

CREATE TABLE store_meta (
  name  text NOT NULL PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE nodes (
  started_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  id         uuid        NOT NULL PRIMARY KEY,
  fenced     boolean     NOT NULL DEFAULT false,
  name       text        NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX nodes_fenced ON nodes (id) WHERE fenced;
CREATE INDEX nodes_lease ON nodes (id) WHERE NOT fenced;

CREATE TABLE sequences (
  created_at timestamptz NOT NULL DEFAULT now(),
  version    int         NOT NULL,
  id         uuid        NOT NULL,
  deprecated boolean     NOT NULL DEFAULT false,
  tenant_id  text COLLATE "C" NOT NULL,
  namespace  text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  definition text        NOT NULL,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, namespace, name, version)
);

-- Narrow and hot. A commit that neither releases the claim nor resets the takeovers only locks the row.
CREATE TABLE task_instances (
  next_fire_at     timestamptz,
  claim_epoch      bigint      NOT NULL DEFAULT 0,
  wake_seq         bigint      NOT NULL DEFAULT 0,
  updated_at       timestamptz NOT NULL DEFAULT now(),
  priority         int         NOT NULL,
  takeovers        int         NOT NULL DEFAULT 0,
  id               uuid        NOT NULL,
  claim_nonce      uuid        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  claim_node       uuid,
  last_transition  uuid,       -- of the owner's last release: how an unclear COMMIT finds itself
  last_outside     uuid,       -- of the last move by whoever is not the owner, for the same reason
  cancel_requested boolean     NOT NULL DEFAULT false,
  pause_requested  boolean     NOT NULL DEFAULT false,
  tenant_id        text COLLATE "C" NOT NULL,
  state            text COLLATE "C" NOT NULL
    CHECK (state IN ('scheduled', 'running', 'waiting', 'paused', 'completed', 'failed', 'cancelled')),
  reasons          text,
  outcome          text,
  PRIMARY KEY (tenant_id, id),
  CHECK (claim_node IS NULL OR next_fire_at IS NULL)
) WITH (fillfactor = 70);
CREATE INDEX task_instances_claimable ON task_instances (tenant_id, priority DESC, next_fire_at)
  WHERE next_fire_at IS NOT NULL AND claim_node IS NULL;
CREATE INDEX task_instances_due ON task_instances (next_fire_at) WHERE next_fire_at IS NOT NULL AND claim_node IS NULL;
CREATE INDEX task_instances_owner ON task_instances (claim_node) WHERE claim_node IS NOT NULL;
CREATE INDEX task_instances_attention ON task_instances (tenant_id, state, id)
  WHERE state IN ('waiting', 'paused', 'failed', 'cancelled');

CREATE TABLE instance_data (
  created_at   timestamptz NOT NULL DEFAULT now(),
  instance_id  uuid        NOT NULL,
  execution_id uuid        NOT NULL,
  sequence_id  uuid        NOT NULL,
  tenant_id    text COLLATE "C" NOT NULL,
  namespace    text        NOT NULL,
  dedup_key    text,
  metadata     text,
  context      text        NOT NULL,
  PRIMARY KEY (tenant_id, instance_id)
);
CREATE INDEX instance_data_execution ON instance_data (tenant_id COLLATE "POSIX", execution_id);
CREATE INDEX instance_data_sequence ON instance_data (tenant_id COLLATE "POSIX", sequence_id, instance_id);

CREATE TABLE dedup_keys (
  created_at     timestamptz NOT NULL DEFAULT now(),
  instance_id    uuid        NOT NULL,
  tenant_id      text COLLATE "C" NOT NULL,
  scope          text COLLATE "C" NOT NULL,
  key            text COLLATE "C" NOT NULL,
  payload_sha256 text,
  PRIMARY KEY (tenant_id, scope, key)
);

-- What was intended, before a byte left. Keyed in append order: a random primary key would spread the writes.
CREATE TABLE effect_receipts (
  at                      timestamptz NOT NULL DEFAULT now(),
  quiet_at                timestamptz NOT NULL,
  claim_epoch             bigint      NOT NULL,
  key_window_millis       bigint,
  attempt                 int         NOT NULL,
  ordinal                 smallint    NOT NULL,  -- place within its commit: order of insertion is (at, ordinal)
  instance_id             uuid        NOT NULL,
  id                      uuid        NOT NULL,
  execution_id            uuid        NOT NULL,
  claim_nonce             uuid        NOT NULL,
  node_id                 uuid        NOT NULL,
  transition_id           uuid        NOT NULL,
  resend_of               uuid,
  state                   text        NOT NULL CHECK (state IN ('prepared', 'dispatched')),
  kind                    text        NOT NULL CHECK (kind IN ('http', 'model', 'message', 'storage', 'worker', 'custom')),
  tenant_id               text COLLATE "C" NOT NULL,
  path                    text COLLATE "C" NOT NULL,
  handler                 text        NOT NULL,
  destination             text        NOT NULL,
  destination_fingerprint bytea       NOT NULL,
  idempotency_key         text COLLATE "C",
  request_sha256          bytea       NOT NULL,
  labels                  text,
  request                 text        NOT NULL,
  PRIMARY KEY (tenant_id, instance_id, path, attempt)
);
CREATE UNIQUE INDEX effect_receipts_id ON effect_receipts (tenant_id COLLATE "POSIX", id);
CREATE INDEX effect_receipts_key ON effect_receipts (tenant_id COLLATE "POSIX", idempotency_key) WHERE idempotency_key IS NOT NULL;
-- For time ranges, at a few bytes for each thousand receipts.
CREATE INDEX effect_receipts_at ON effect_receipts USING brin (at) WITH (pages_per_range = 32, autosummarize = on);

-- Journal, evidence and block output in one row. The key conflict on n is the compare-and-swap; the state is the last row.
CREATE TABLE receipt_journal (
  at                  timestamptz NOT NULL DEFAULT now(),
  claim_epoch         bigint,
  retry_in_millis     bigint,
  attempt             int         NOT NULL,
  n                   int         NOT NULL CHECK (n > 0),
  reply_status        int,
  instance_id         uuid        NOT NULL,
  transition_id       uuid        NOT NULL,
  claim_nonce         uuid,
  counts_as_attempt   boolean     NOT NULL,
  reply_truncated     boolean,
  tenant_id           text COLLATE "C" NOT NULL,
  path                text COLLATE "C" NOT NULL,
  from_state          text        NOT NULL,
  to_state            text        NOT NULL,
  output_state        text        NOT NULL CHECK (output_state IN ('none', 'saved', 'lost', 'unusable')),
  actor               text        NOT NULL,
  proof               text        CHECK (proof IN ('not_sent', 'refused_by_protocol', 'rejected', 'verified_absent')),
  reason              text,
  message             text,
  provider_receipt_id text COLLATE "C",
  problem             text,
  reply_headers       text,
  output              text,
  reply_body          bytea,
  PRIMARY KEY (tenant_id, instance_id, path, attempt, n),
  -- Generated from EffectState: the moves there are, and the row that supplies a lost output and moves nothing. StateMachinesPageTest fails when this is stale.
  CHECK (from_state || ' ' || to_state IN (
    'planned prepared', 'planned abandoned',
    'prepared dispatched', 'prepared verified', 'prepared abandoned',
    'dispatched committed', 'dispatched unknown', 'dispatched not_applied',
    'committed compensated',
    'unknown committed', 'unknown not_applied', 'unknown verified', 'unknown compensated', 'unknown abandoned',
    'verified compensated')
    OR from_state = to_state AND to_state IN ('committed', 'verified') AND output_state = 'saved')
);
CREATE INDEX receipt_journal_provider ON receipt_journal (tenant_id COLLATE "POSIX", provider_receipt_id) WHERE provider_receipt_id IS NOT NULL;

-- The queue that people and verifiers work from: rare rows, richly indexed, deleted when the receipt leaves the queue.
CREATE TABLE effect_open (
  at                      timestamptz NOT NULL,
  since                   timestamptz NOT NULL DEFAULT now(),
  claim_epoch             bigint      NOT NULL,
  attempt                 int         NOT NULL,
  instance_id             uuid        NOT NULL,
  id                      uuid        NOT NULL,
  tenant_id               text COLLATE "C" NOT NULL,
  path                    text COLLATE "C" NOT NULL,
  state                   text        NOT NULL CHECK (state IN ('prepared', 'unknown', 'output_lost')),
  kind                    text        NOT NULL,
  destination             text        NOT NULL,
  destination_fingerprint bytea       NOT NULL,
  request_sha256          bytea       NOT NULL,
  idempotency_key         text COLLATE "C",
  provider_receipt_id     text COLLATE "C",
  reason                  text,
  labels                  text,
  PRIMARY KEY (tenant_id, instance_id, path, attempt)
);
CREATE INDEX effect_open_newest ON effect_open (tenant_id COLLATE "POSIX", at DESC, id DESC);
CREATE INDEX effect_open_id ON effect_open (tenant_id COLLATE "POSIX", id);
CREATE INDEX effect_open_hash ON effect_open (tenant_id COLLATE "POSIX", request_sha256);
CREATE INDEX effect_open_fingerprint ON effect_open (tenant_id COLLATE "POSIX", destination_fingerprint);
CREATE INDEX effect_open_epoch ON effect_open (tenant_id COLLATE "POSIX", claim_epoch);
CREATE INDEX effect_open_path ON effect_open (tenant_id COLLATE "POSIX", path);
CREATE INDEX effect_open_key ON effect_open (tenant_id COLLATE "POSIX", idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX effect_open_provider ON effect_open (tenant_id COLLATE "POSIX", provider_receipt_id) WHERE provider_receipt_id IS NOT NULL;

CREATE TABLE effect_evidence (
  at            timestamptz NOT NULL DEFAULT now(),
  seq           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
  attempt       int         NOT NULL,
  instance_id   uuid        NOT NULL,
  transition_id uuid        NOT NULL,
  tenant_id     text COLLATE "C" NOT NULL,
  path          text COLLATE "C" NOT NULL,
  kind          text        NOT NULL,
  actor         text        NOT NULL,
  body          text        NOT NULL,
  bytes         bytea,
  PRIMARY KEY (tenant_id, instance_id, path, attempt, seq)
);

CREATE TABLE audit_log (
  at          timestamptz NOT NULL DEFAULT now(),
  seq         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
  tenant_id   text COLLATE "C" NOT NULL,
  actor       text        NOT NULL,
  action      text        NOT NULL,
  subject     text COLLATE "C" NOT NULL,
  details     text        NOT NULL,
  PRIMARY KEY (tenant_id, seq)
);
CREATE INDEX audit_log_subject ON audit_log (tenant_id, subject, seq);

CREATE TABLE block_outputs (
  at            timestamptz NOT NULL DEFAULT now(),
  due_in_millis bigint,
  n             int         NOT NULL,
  instance_id   uuid        NOT NULL,
  transition_id uuid        NOT NULL,
  tenant_id     text COLLATE "C" NOT NULL,
  path          text COLLATE "C" NOT NULL,
  kind          text        NOT NULL CHECK (kind IN ('output', 'error', 'retry', 'timer', 'frame', 'cleared', 'state')),
  body          text,
  PRIMARY KEY (tenant_id, instance_id, path, n)
);

-- The outbox. Sequence numbers are handed out before their transactions commit, so a reader that goes by seq alone would step over
-- late committers: it goes by (xid, seq) and only below the oldest transaction still running.
CREATE TABLE events (
  at          timestamptz NOT NULL DEFAULT now(),
  xid         xid8        NOT NULL DEFAULT pg_current_xact_id(),
  seq         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
  instance_id uuid        NOT NULL,
  tenant_id   text COLLATE "C" NOT NULL,
  type        text        NOT NULL,
  subject     text,
  payload     text        NOT NULL,
  PRIMARY KEY (tenant_id, xid, seq)
);
CREATE INDEX events_order ON events (xid, seq);

-- An effect as people and tools expect to see it: one row for each receipt with its current state.
CREATE VIEW effects_view AS
SELECT r.tenant_id, r.id, r.execution_id, r.claim_epoch AS epoch, r.instance_id, r.path AS block_path, r.attempt, r.kind, r.handler,
       r.destination,
       CASE octet_length(r.destination_fingerprint) WHEN 32 THEN encode(r.destination_fingerprint, 'hex')
            ELSE convert_from(ltrim(r.destination_fingerprint, '\xff'), 'UTF8') END AS destination_fingerprint,
       r.idempotency_key,
       CASE octet_length(r.request_sha256) WHEN 32 THEN encode(r.request_sha256, 'hex')
            ELSE convert_from(ltrim(r.request_sha256, '\xff'), 'UTF8') END AS request_sha256,
       r.request, r.labels, r.resend_of,
       coalesce(j.to_state, r.state) AS state, j.proof, j.reason, j.message, j.provider_receipt_id, j.output_state, j.output, j.actor,
       r.at AS created_at, CASE WHEN r.state = 'dispatched' THEN r.at END AS dispatched_at, r.quiet_at, coalesce(j.at, r.at) AS updated_at
  FROM effect_receipts r
  LEFT JOIN LATERAL (
    SELECT * FROM receipt_journal j
     WHERE (j.tenant_id, j.instance_id, j.path, j.attempt) = (r.tenant_id, r.instance_id, r.path, r.attempt)
     ORDER BY n DESC LIMIT 1) j ON true;

-- What has happened is never rewritten. An owner can take the right from itself (a superuser cannot be held by privileges:
-- do not run the engine as one).
REVOKE UPDATE, DELETE, TRUNCATE
  ON effect_receipts, receipt_journal, block_outputs, effect_evidence, audit_log, events
  FROM CURRENT_USER;
