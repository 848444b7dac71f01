-- Where events of a tenant are sent, and how far each place has got. One row is the whole state: the cursor into the outbox, the claim of the
-- one node that sends, the retries of the event that is next. Times are the database's, so nodes need not agree on the hour.
CREATE TABLE webhook_endpoints (
  created_at      timestamptz NOT NULL DEFAULT now(),
  due_at          timestamptz NOT NULL DEFAULT now(),
  sender_until    timestamptz,
  previous_until  timestamptz,
  succeeded_at    timestamptz,
  failing_since   timestamptz,
  id              uuid        NOT NULL,
  sender          uuid,
  failures        int         NOT NULL DEFAULT 0,
  last_status     int,
  parked          boolean     NOT NULL DEFAULT false,
  tenant_id       text COLLATE "C" NOT NULL,
  url             text        NOT NULL,
  types           text        NOT NULL,
  secret          text        NOT NULL,
  previous_secret text,
  cursor          text,
  last_error      text,
  PRIMARY KEY (tenant_id, id)
) WITH (fillfactor = 70);
