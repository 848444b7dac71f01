-- Content that one effect alone may have (semantics.md section 6). Who inserts first holds it; the primary key decides, whatever the clocks say.
CREATE TABLE effect_guards (
  at          timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz,
  attempt     int         NOT NULL,
  instance_id uuid        NOT NULL,
  receipt_id  uuid        NOT NULL,
  tenant_id   text COLLATE "C" NOT NULL,
  scope       text COLLATE "C" NOT NULL,
  kind        text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  content     text COLLATE "C" NOT NULL,
  path        text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant_id, scope, kind, fingerprint, content)
);
CREATE INDEX effect_guards_holder ON effect_guards (tenant_id COLLATE "POSIX", instance_id, path);

-- Invariants that a version was given after it was published; those of the document stand in the document.
CREATE TABLE invariants (
  created_at  timestamptz NOT NULL DEFAULT now(),
  sequence_id uuid        NOT NULL,
  tenant_id   text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  definition  text        NOT NULL,
  PRIMARY KEY (tenant_id, sequence_id, name)
);

CREATE TABLE invariant_results (
  at            timestamptz NOT NULL DEFAULT now(),
  seq           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
  instance_id   uuid        NOT NULL,
  transition_id uuid        NOT NULL,
  held          boolean     NOT NULL,
  tenant_id     text COLLATE "C" NOT NULL,
  invariant     text        NOT NULL,
  rule          text        NOT NULL,
  path          text COLLATE "C" NOT NULL,
  details       text        NOT NULL,
  PRIMARY KEY (tenant_id, instance_id, seq)
);

REVOKE UPDATE, DELETE, TRUNCATE ON invariants, invariant_results FROM CURRENT_USER;
