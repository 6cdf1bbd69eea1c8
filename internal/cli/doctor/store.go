package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// state checks which process uses the state folder, and how the last run ended.
func (e *examination) state(context.Context) {
	if e.Settings.StateDir == "" {
		return
	}
	run, err := lastrun.Peek(e.Settings.StateDir)
	if err != nil {
		e.warn("state", "run bezoar doctor as the user that Bezoar runs as", "who uses %s cannot be read: %v", e.Settings.StateDir, err)
		return
	}
	e.run = run
	switch {
	case run.Running && run.PID != 0 && !e.Machine.Alive(run.PID):
		e.warn("state", "run bezoar doctor where that Bezoar runs, in the same container", "%s is in use by process %d, which cannot be seen from here", e.Settings.StateDir, run.PID)
	case run.Running:
		e.ok("state", "%s is in use by Bezoar (pid %d) since %s", e.Settings.StateDir, run.PID, run.Began.Format(time.DateTime))
	case run.PID != 0 && !run.Orderly:
		e.warn("state", "read the log and "+filepath.Join(e.Settings.StateDir, "crash.last.txt")+"; the next start judges what was in flight",
			"the last Bezoar of %s (pid %d, started %s) did not stop in order", e.Settings.StateDir, run.PID, run.Began.Format(time.DateTime))
	case run.PID != 0:
		e.ok("state", "no process uses %s; the last Bezoar stopped cleanly", e.Settings.StateDir)
	default:
		e.ok("state", "no Bezoar has used %s yet", e.Settings.StateDir)
	}
}

func (e *examination) stores(ctx context.Context) {
	if e.Settings.Store == config.MemoryStore {
		return
	}
	began := e.Machine.Now()
	found, err := store.Inspect(ctx, e.Settings.Store)
	e.store = found
	if err != nil {
		e.fault("store", "correct store, or make it reachable", "%v", err)
		return
	}
	e.owner()
	e.schema()
	e.pooler()
	if !found.Clock.IsZero() {
		e.clock(began, e.Machine.Now())
	}
}

// owner compares the process that holds the store's file with the process that has the state folder.
func (e *examination) owner() {
	s := &e.store
	switch {
	case s.Held && s.Owner != 0 && !e.Machine.Alive(s.Owner):
		e.warn("store", "lslocks and lsof name who has it; do not delete the lock", "%s is locked, and the process that wrote its id there (%d) cannot be seen from here", s.File, s.Owner)
	case s.Held && e.run.Running && s.Owner != e.run.PID:
		e.fault("store", "stop one of them, or give each a store and a state_dir of its own", "%s belongs to process %d, and the state folder to process %d", s.File, s.Owner, e.run.PID)
	case s.Held && !e.run.Running:
		e.warn("store", "give state_dir the folder that this process uses, or stop it", "%s belongs to process %d, which does not use %s", s.File, s.Owner, e.Settings.StateDir)
	case s.Log > 0:
		e.warn("store", "start Bezoar, which applies it; never delete the file that ends in -wal", "the last process did not stop in order: %d bytes are in the log beside %s", s.Log, s.File)
	}
}

// schema compares the schema versions of store and program.
func (e *examination) schema() {
	s := &e.store
	switch {
	case !s.Exists && e.runs():
		e.fault("store", "stop Bezoar and restore a backup", "Bezoar runs, and its store is not there")
	case !s.Exists:
		e.ok("store", "it is not there yet; the first start makes it")
	case s.Has > s.Knows:
		e.fault("store", "run the newer bezoar that wrote it, or restore a backup from before", "the schema has version %d, this program knows versions up to %d", s.Has, s.Knows)
	case s.Has < s.Knows && e.runs():
		e.warn("store", "restart Bezoar to finish the upgrade", "the schema has version %d, this program has version %d: an older Bezoar runs", s.Has, s.Knows)
	case s.Has < s.Knows:
		e.warn("store", "bezoar backup before you start it: there is no way back", "the schema has version %d; the next start brings it to %d", s.Has, s.Knows)
	default:
		e.ok("store", "it answers, and its schema has version %d", s.Has)
	}
}

// pooler reports a pooler in front of PostgreSQL.
func (e *examination) pooler() {
	const leave = "leave default_query_exec_mode out of the URL"
	switch s := &e.store; {
	case s.Pooler == store.PoolsTransactions && s.Prepares:
		e.fault("store", leave, "a pooler such as PgBouncer pools transactions, and the URL asks for prepared statements, which it loses")
	case s.Pooler == store.PoolsTransactions:
		e.ok("store", "a pooler such as PgBouncer pools transactions, which Bezoar supports")
	case s.Pooler == store.OneConnection:
		e.fault("store", "raise default_pool_size of the pooler to 5 or more", "the pooler gives Bezoar one connection at a time, and a start needs two")
	case s.Pooler == store.PoolsSessions:
		e.ok("store", "a pooler pools sessions: each connection of Bezoar takes one of the server's")
	}
}

// Thresholds for the difference of the clocks.
const (
	clockWarn  = time.Second
	clockFault = 30 * time.Second
)

// clock compares this machine's clock with the store's, which decides about leases. The store answered between before and
// after.
func (e *examination) clock(before, after time.Time) {
	at := e.store.Clock
	apart, side := before.Sub(at), "behind"
	if at.After(after) {
		apart, side = at.Sub(after), "ahead"
	}
	text := fmt.Sprintf("the clock of the store is %v %s of this machine's clock", apart.Round(time.Millisecond), side)
	const fix = "synchronise both machines (chrony, systemd-timesyncd)"
	switch {
	case apart > clockFault:
		e.fault("clock", fix, "%s", text)
	case apart > clockWarn:
		e.warn("clock", fix, "%s", text)
	default:
		e.ok("clock", "the clocks of the store and of this machine agree")
	}
}
