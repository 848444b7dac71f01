PRAGMA user_version = 6;
-- Labels stand in the queue too: a search for one, or what is at stake, must not visit a receipt for each row of the queue (measured: 350 ms
-- for 10,000 of them among a million receipts).
ALTER TABLE effect_open ADD COLUMN labels TEXT;
UPDATE effect_open
   SET labels = (SELECT r.labels FROM effect_receipts r
                  WHERE (r.tenant_id, r.instance_id, r.path, r.attempt)
                      = (effect_open.tenant_id, effect_open.instance_id, effect_open.path, effect_open.attempt));
CREATE INDEX effect_open_attempt ON effect_open (tenant_id, attempt);
