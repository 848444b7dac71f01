-- Which thresholds a person was called about, once for each effect: the key decides when two nodes look at the same moment.
CREATE TABLE effect_escalations (
  at        timestamptz NOT NULL DEFAULT now(),
  effect_id uuid        NOT NULL,
  tenant_id text COLLATE "C" NOT NULL,
  threshold text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant_id, effect_id, threshold)
);
REVOKE UPDATE, DELETE, TRUNCATE ON effect_escalations FROM CURRENT_USER;
