PRAGMA user_version = 4;
-- The operators' desk: rare kinds of evidence that are looked for by kind.
CREATE INDEX effect_evidence_desk ON effect_evidence (tenant_id, kind, seq) WHERE kind IN ('proposal', 'escalation');
