package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Thresholds from which operators are warned about slow queues.
const (
	LongTransaction = time.Minute
	ManyDead        = 100_000 // dead rows of one table
)

// Held returns an error about the oldest transaction in this database that has been open
// for longer than a limit and holds back vacuum; nil if there is none. For sessions of
// other users, the server shows the start only to members of pg_read_all_stats.
func (db *DB) Held(ctx context.Context, longer time.Duration) error {
	var pid, age, all int64
	var application, user, state string
	err := db.pool.QueryRow(ctx, `SELECT a.pid, coalesce(a.application_name, ''), coalesce(a.usename::text, ''), coalesce(a.state, ''),
			(extract(epoch FROM clock_timestamp() - a.xact_start) * 1000000)::bigint, count(*) OVER ()
		FROM pg_stat_activity a
		WHERE a.datname = current_database() AND a.backend_type = 'client backend' AND a.pid <> pg_backend_pid()
			AND (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL)
			AND clock_timestamp() - a.xact_start > $1::bigint * interval '1 microsecond'
		ORDER BY a.xact_start LIMIT 1`, longer.Microseconds()).Scan(&pid, &application, &user, &state, &age, &all)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return db.fault(ctx, err, "look for long transactions")
	}
	more := ""
	if all > 1 {
		more = fmt.Sprintf("; %d more are like it", all-1)
	}
	open := (time.Duration(age) * time.Microsecond).Round(time.Second)
	return fmt.Errorf("pid %d has had a transaction open for %s, which holds back vacuum: commit it, or run SELECT pg_terminate_backend(%d). "+
		"Its application is %.32q, its user %.32q, its state %s%s", pid, open, pid, application, user, state, more)
}

// Bloated returns an error about the queue table with the most dead rows, if it has more
// dead than live rows and more than a threshold; otherwise nil.
func (db *DB) Bloated(ctx context.Context, above int64) error {
	var table string
	var dead, live, vacuumed int64
	err := db.pool.QueryRow(ctx, `SELECT s.relname::text, s.n_dead_tup, s.n_live_tup,
			coalesce(extract(epoch FROM clock_timestamp() - greatest(s.last_vacuum, s.last_autovacuum)), -1)::bigint
		FROM pg_stat_user_tables s
		WHERE s.schemaname = $1 AND s.relname LIKE 'queue%' AND s.n_dead_tup > $2 AND s.n_dead_tup > s.n_live_tup
		ORDER BY s.n_dead_tup DESC LIMIT 1`, db.schema, above).Scan(&table, &dead, &live, &vacuumed)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return db.fault(ctx, err, "look for dead rows")
	}
	last := "never vacuumed"
	if vacuumed >= 0 {
		last = fmt.Sprintf("last vacuumed %s ago", time.Duration(vacuumed)*time.Second)
	}
	return fmt.Errorf("%s has %d dead rows and %d live ones, %s: end long transactions, check that autovacuum is on, lower autovacuum_naptime, "+
		"or VACUUM %s.%s", table, dead, live, last, db.schema, table)
}
