-- What waits for a second person is found without reading through the evidence.
CREATE INDEX effect_evidence_proposals ON effect_evidence (tenant_id, seq) WHERE kind = 'proposal';

-- The server's key for signed case files: made once, never changed.
CREATE TABLE signing_key (
  id          INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  public_key  BLOB    NOT NULL,
  private_key BLOB    NOT NULL
) STRICT;
