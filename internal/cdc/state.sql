CREATE TABLE IF NOT EXISTS {schema}.cdc (
	slot       text PRIMARY KEY,
	system     text NOT NULL,
	timeline   integer NOT NULL,
	position   pg_lsn NOT NULL,                 -- everything that was committed before is done
	partial    pg_lsn NOT NULL DEFAULT '0/0',   -- the transaction of which a part is done
	changes    bigint NOT NULL DEFAULT 0,       -- how many of its changes are
	copied     text[] NOT NULL DEFAULT '{}',    -- tables whose rows were copied
	health     text NOT NULL DEFAULT 'starting',
	reason     text NOT NULL DEFAULT '',
	health_at  timestamptz NOT NULL DEFAULT now(),
	changed_at timestamptz NOT NULL DEFAULT now()
);
