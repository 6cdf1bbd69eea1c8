package cdc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

const (
	soon      = 24 * time.Hour   // raise an alarm if the disk will be full within this time
	plenty    = 1 << 30          // bytes; raise an alarm if a slot without a reader holds back more
	trifle    = 64 << 20         // bytes that any slot holds back
	longAgo   = 30 * time.Second // name a transaction that has been open for longer
	troubled  = time.Minute      // raise an alarm if a reader fails for longer
	rateAfter = 5 * time.Second  // minimum time between the samples of a rate
)

// PanelConfig selects the server whose slots a [Panel] shows.
type PanelConfig struct {
	URL    string // of a database; the panel shows all slots of its server
	Schema string // of the database's outbox, whose readers are shown by name
	// Room is the space in bytes for WAL on the server's disk. 0: the free space of the
	// disk if the server is on this machine, otherwise unknown.
	Room int64
}

// Report describes the cost of a server's replication slots.
type Report struct {
	At    time.Time    `json:"at"`
	Rate  float64      `json:"wal_bytes_per_second"`
	Free  *int64       `json:"free_bytes,omitempty"` // space for WAL; nil: unknown
	Slots []SlotReport `json:"slots"`
}

// SlotReport describes the cost of one slot.
type SlotReport struct {
	Name     string     `json:"name"`
	Kind     string     `json:"kind"` // physical, or the name of the plugin
	Database string     `json:"database,omitempty"`
	PID      int        `json:"pid,omitempty"` // server process of the reader; 0: no reader
	Reader   string     `json:"reader,omitempty"`
	Inactive *time.Time `json:"inactive_since,omitempty"`
	Status   string     `json:"wal_status"`           // lost: the server removed WAL that the slot needs
	Retained int64      `json:"retained_bytes"`       // WAL that the server keeps for the slot
	Behind   int64      `json:"unconfirmed_bytes"`    // WAL that the reader has not confirmed
	Safe     *int64     `json:"safe_bytes,omitempty"` // WAL until the server removes what the slot needs; nil: no limit
	HeldBy   string     `json:"held_by,omitempty"`    // the reason why the server cannot remove the WAL
	// LimitIn estimates when the disk will be full or, with Safe, when the slot will be
	// lost. nil: it does not grow, or the growth is unknown.
	LimitIn *time.Duration `json:"limit_in_ns,omitempty"`
	Health  Health         `json:"health,omitempty"` // of the outbox's reader
	Reason  string         `json:"reason,omitempty"`
	Since   *time.Time     `json:"health_since,omitempty"`
	Alarm   string         `json:"alarm,omitempty"` // what needs a person's attention; empty: nothing
}

// Panel examines the slots of a server. It is safe for concurrent use.
type Panel struct {
	c Config
	p PanelConfig

	mu   sync.Mutex // guards last
	last sample     // an earlier sample
}

type sample struct {
	at       time.Time
	wal      int64
	retained map[string]int64
}

// NewPanel returns a panel. It does not connect.
func NewPanel(p PanelConfig) (*Panel, error) {
	c := Config{URL: p.URL, Slot: "panel", Publication: "panel"}
	err := c.Validate()
	if p.Schema != "" && !validName(p.Schema) {
		err = errors.Join(err, fmt.Errorf("Schema: %.80q is not 1 to 63 of a-z, 0-9 and _", p.Schema))
	}
	return &Panel{c: c, p: p}, err
}

// Look connects and reports on all slots. Rates are measured since an earlier call; the
// first call uses the server's statistics.
func (p *Panel) Look(ctx context.Context) (*Report, error) {
	conn, err := p.c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer closeConn(conn)
	r := &Report{At: time.Now()}
	wal, err := p.wal(ctx, conn, r)
	if err != nil {
		return nil, fmt.Errorf("look at the WAL: %w", err)
	}
	if err := p.slots(ctx, conn, r); err != nil {
		return nil, fmt.Errorf("look at replication slots: %w", err)
	}
	if err := p.readers(ctx, conn, r); err != nil {
		return nil, fmt.Errorf("look at the readers of the outbox: %w", err)
	}
	open, err := oldest(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("look at open transactions: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	growth := p.growth(r, wal)
	for i := range r.Slots {
		s := &r.Slots[i]
		s.hold(open)
		s.project(r, growth[s.Name])
		s.alarm(r)
	}
	return r, nil
}

// wal fills in the values that concern all slots, and returns the end of the WAL.
func (p *Panel) wal(ctx context.Context, conn *pgx.Conn, r *Report) (end int64, err error) {
	var folder string
	var local bool
	err = conn.QueryRow(ctx, `SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END - '0/0')::bigint,
		(SELECT coalesce(wal_bytes / nullif(extract(epoch FROM now() - stats_reset), 0), 0)::float8 FROM pg_stat_wal),
		coalesce((SELECT setting FROM pg_settings WHERE name = 'data_directory'), ''),
		inet_server_addr() IS NULL OR inet_server_addr() << '127.0.0.0/8' OR inet_server_addr() = '::1'`).Scan(&end, &r.Rate, &folder, &local)
	if err == nil && p.p.Room == 0 && local && folder != "" {
		if disk, err := procstat.Disk(folder + "/pg_wal"); err == nil { // the server's data directory may not be readable
			r.Free = &disk.Available
		}
	}
	return end, err
}

func (p *Panel) slots(ctx context.Context, conn *pgx.Conn, r *Report) error {
	// Older servers lack some columns.
	rows, err := conn.Query(ctx, `SELECT s.slot_name, coalesce(s.plugin::text, 'physical'), coalesce(s.database::text, ''), coalesce(s.active_pid, 0),
		coalesce(nullif(concat_ws(' from ', nullif(a.application_name, ''), host(a.client_addr)), ''), ''),
		(to_jsonb(s)->>'inactive_since')::timestamptz, coalesce(s.wal_status, ''),
		coalesce((end_ - s.restart_lsn)::bigint, 0), coalesce((end_ - s.confirmed_flush_lsn)::bigint, (end_ - s.restart_lsn)::bigint, 0), s.safe_wal_size
		FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
		CROSS JOIN (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END) w (end_)
		ORDER BY 8 DESC, 1`)
	if err != nil {
		return err
	}
	r.Slots, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s SlotReport, err error) {
		err = row.Scan(&s.Name, &s.Kind, &s.Database, &s.PID, &s.Reader, &s.Inactive, &s.Status, &s.Retained, &s.Behind, &s.Safe)
		return s, err
	})
	if p.p.Room > 0 && len(r.Slots) > 0 {
		left := max(0, p.p.Room-r.Slots[0].Retained)
		r.Free = &left
	}
	return err
}

// readers adds the state of the outbox's readers. It also lists readers whose slots are
// gone.
func (p *Panel) readers(ctx context.Context, conn *pgx.Conn, r *Report) error {
	if p.p.Schema == "" {
		return nil
	}
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", quoted(p.p.Schema, "cdc")).Scan(&there); err != nil || !there {
		return err
	}
	rows, err := conn.Query(ctx, "SELECT slot, health, reason, health_at FROM "+quoted(p.p.Schema, "cdc")+" ORDER BY slot")
	if err != nil {
		return err
	}
	said, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s SlotReport, err error) {
		err = row.Scan(&s.Name, &s.Health, &s.Reason, &s.Since)
		return s, err
	})
	for _, s := range said {
		found := false
		for i := range r.Slots {
			if r.Slots[i].Name == s.Name {
				r.Slots[i].Health, r.Slots[i].Reason, r.Slots[i].Since, found = s.Health, s.Reason, s.Since, true
			}
		}
		if !found {
			s.Kind, s.Database, s.Status = plugin, conn.Config().Database, "gone"
			r.Slots = append(r.Slots, s)
		}
	}
	return err
}

// growth returns how fast each slot's WAL grows, in bytes per second. Without an earlier
// sample it uses the rate of the whole WAL.
func (p *Panel) growth(r *Report, wal int64) map[string]float64 {
	out := map[string]float64{}
	now := sample{at: r.At, wal: wal, retained: map[string]int64{}}
	passed := r.At.Sub(p.last.at)
	known := p.last.retained != nil && passed >= time.Second
	if known {
		r.Rate = float64(wal-p.last.wal) / passed.Seconds()
	}
	for _, s := range r.Slots {
		now.retained[s.Name] = s.Retained
		out[s.Name] = r.Rate
		if before, there := p.last.retained[s.Name]; known && there {
			out[s.Name] = float64(s.Retained-before) / passed.Seconds()
		}
	}
	if p.last.retained == nil || passed >= rateAfter {
		p.last = now
	}
	return out
}

// oldest describes the transaction that prevents logical slots from advancing.
func oldest(ctx context.Context, conn *pgx.Conn) (string, error) {
	var who string
	var since time.Time
	err := conn.QueryRow(ctx, `SELECT who, since FROM (
		SELECT format('the transaction of %s in database %s (%s, process %s)', usename, datname, coalesce(nullif(application_name, ''), 'no application name'), pid) who,
			xact_start since, age(backend_xid) age FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND xact_start IS NOT NULL
		UNION ALL SELECT format('the prepared transaction %L of %s in database %s', gid, owner, database), prepared, age(transaction) FROM pg_prepared_xacts
		) t ORDER BY age DESC LIMIT 1`).Scan(&who, &since)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && time.Since(since) < longAgo {
		return "", nil
	}
	return fmt.Sprintf("%s, open since %s", who, since.UTC().Format(time.RFC3339)), err
}
