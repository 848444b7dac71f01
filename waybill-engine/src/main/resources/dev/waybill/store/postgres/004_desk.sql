-- What waits for a second person is found without reading through the evidence.
CREATE INDEX effect_evidence_proposals ON effect_evidence (tenant_id COLLATE "C", seq) WHERE kind = 'proposal';

-- The server's key for signed case files: made once, never changed.
CREATE TABLE signing_key (
  created_at  timestamptz NOT NULL DEFAULT now(),
  id          int         NOT NULL PRIMARY KEY CHECK (id = 1),
  public_key  bytea       NOT NULL,
  private_key bytea       NOT NULL
);
