PRAGMA user_version = 7;
-- Which thresholds a person was called about, once for each effect.
CREATE TABLE effect_escalations (
  tenant_id TEXT    NOT NULL,
  effect_id BLOB    NOT NULL,
  threshold TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, effect_id, threshold)
) STRICT, WITHOUT ROWID;
