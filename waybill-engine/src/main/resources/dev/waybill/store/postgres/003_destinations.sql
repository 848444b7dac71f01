-- Destinations that are held (docs/destinations.md): N unknowns in T stop new dispatches there until a probe is answered, or a person says so.
-- One row for each destination that had an unknown or was ever held; its lock decides who counts and who may probe.
CREATE TABLE destination_holds (
  since         timestamptz NOT NULL DEFAULT now(),
  probe_at      timestamptz, -- when a dispatch is let through; null = only a person releases it
  probe_receipt uuid,
  held          boolean     NOT NULL,
  tenant_id     text COLLATE "C" NOT NULL,
  destination   text COLLATE "C" NOT NULL,
  name          text        NOT NULL,
  actor         text        NOT NULL,
  reason        text        NOT NULL,
  PRIMARY KEY (tenant_id, destination)
);

-- What counts towards a hold: receipts that became unknown lately at a destination with a policy. Pruned by whoever adds to it.
CREATE TABLE destination_unknowns (
  at          timestamptz NOT NULL DEFAULT now(),
  receipt_id  uuid        NOT NULL,
  tenant_id   text COLLATE "C" NOT NULL,
  destination text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant_id, destination, receipt_id)
);
