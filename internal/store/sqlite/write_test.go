package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/bezoar-dev/bezoar"
)

func openTest(t testing.TB) *DB {
	t.Helper()
	db, err := Open(context.Background(), Config{Path: filepath.Join(t.TempDir(), "bezoar.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func insertVerdict(id string) func(tx) error {
	return func(t tx) error {
		return t.exec(`INSERT OR REPLACE INTO verdicts (id, fleet, since, doc, revision) VALUES (?, 'search', 1, ?, 1)`, id, fmt.Sprintf(`{"id":%q}`, id))
	}
}

func countVerdicts(t *testing.T, db *DB) int {
	t.Helper()
	verdicts, err := db.Ledger().Verdicts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return len(verdicts)
}

// stall starts a write that waits inside its transaction until release.
func stall(t *testing.T, db *DB) (release func()) {
	t.Helper()
	begun, released, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.writer.run(context.Background(), func(tx) error {
			close(begun)
			<-released
			return nil
		})
	}()
	<-begun
	return func() {
		close(released)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// enqueue starts a write behind a stalled one and returns once it waits there.
func enqueue(ctx context.Context, db *DB, do func(tx) error) <-chan error {
	db.writer.mu.Lock()
	before := len(db.writer.pending)
	db.writer.mu.Unlock()
	done := make(chan error, 1)
	go func() { done <- db.writer.run(ctx, do) }()
	for {
		db.writer.mu.Lock()
		waiting := len(db.writer.pending) > before
		db.writer.mu.Unlock()
		if waiting {
			return done
		}
		runtime.Gosched()
	}
}

func TestWritesThatWaitTogetherShareATransaction(t *testing.T) {
	db := openTest(t)
	release := stall(t, db)
	var changes [3]int
	var waiting []<-chan error
	for i := range changes {
		waiting = append(waiting, enqueue(t.Context(), db, func(t tx) error {
			if err := insertVerdict(fmt.Sprint("q-", i))(t); err != nil {
				return err
			}
			// Uncommitted rows are visible only within one transaction.
			return t.row("SELECT count(*) FROM verdicts", nil, &changes[i])
		}))
	}
	reads := countVerdicts(t, db)
	release()
	for _, done := range waiting {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if reads != 0 || changes != [3]int{1, 2, 3} || countVerdicts(t, db) != 3 {
		t.Errorf("readers saw %d before; the writes saw %v; %d are left", reads, changes, countVerdicts(t, db))
	}
}

func TestOneBadWriteHurtsNoOther(t *testing.T) {
	db := openTest(t)
	release := stall(t, db)
	bad := errors.New("bad")
	good1 := enqueue(t.Context(), db, insertVerdict("q-1"))
	fails := enqueue(t.Context(), db, func(t tx) error { return errors.Join(insertVerdict("q-bad")(t), bad) })
	breaks := enqueue(t.Context(), db, func(t tx) error { return t.exec("INSERT INTO nowhere VALUES (1)") })
	good2 := enqueue(t.Context(), db, insertVerdict("q-2"))
	release()
	for _, good := range []<-chan error{good1, good2} {
		if err := <-good; err != nil {
			t.Error(err)
		}
	}
	if err := <-fails; !errors.Is(err, bad) {
		t.Errorf("the failing write: %v", err)
	}
	if err := <-breaks; err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("the broken write: %v", err)
	}
	if n := countVerdicts(t, db); n != 2 {
		t.Errorf("%d verdicts are left, want the 2 good ones", n)
	}
}

func TestCancelledWhileWaitingIsNotWritten(t *testing.T) {
	db := openTest(t)
	release := stall(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := enqueue(ctx, db, insertVerdict("q-1"))
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled write = %v", err)
	}
	release()
	if err := db.writer.run(t.Context(), insertVerdict("q-2")); err != nil { // behind whatever waited
		t.Fatal(err)
	}
	if n := countVerdicts(t, db); n != 1 {
		t.Errorf("%d verdicts are left: a write was cancelled in time and happened", n)
	}
}

func TestCloseFinishesWhatWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	db, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	release := stall(t, db)
	waiting := enqueue(t.Context(), db, insertVerdict("q-1"))
	var closing sync.WaitGroup
	closing.Go(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	release()
	if err := <-waiting; err != nil {
		t.Errorf("the waiting write = %v", err)
	}
	closing.Wait()
	if db, err = Open(t.Context(), Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := countVerdicts(t, db); n != 1 {
		t.Errorf("%d verdicts are left, want 1", n)
	}
}

// SQLite says "full" by the same path for a full disk and for this bound.
func TestFullDisk(t *testing.T) {
	db := openTest(t)
	if err := db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: "q-before"}); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		var got int
		err := db.writer.run(t.Context(), func(t tx) error { return t.row(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, &got) })
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // SQLite makes that "no larger than now"
	var full error
	for i := range 100 {
		if full = db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: fmt.Sprint("q-", i), Reason: strings.Repeat("x", 4096)}); full != nil {
			break
		}
	}
	if full == nil {
		t.Fatal("a full disk took everything")
	}
	for _, say := range []string{"put verdict q-", db.path, "is full", "free space"} {
		if !strings.Contains(full.Error(), say) {
			t.Errorf("%q does not mention %q", full, say)
		}
	}
	before := countVerdicts(t, db) // reading goes on
	limit(1 << 20)                 // space was freed
	if err := db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: "q-after"}); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
	if n := countVerdicts(t, db); n != before+1 {
		t.Errorf("%d verdicts are left, want %d", n, before+1)
	}
}

// Whoever waits behind a lock that another program holds waits once, together.
func TestAnotherProgramHoldsTheFile(t *testing.T) {
	db := openTest(t)
	other := openRaw(t, db.path)
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	const patience = 500 * time.Millisecond
	if _, err := db.writer.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 500"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	errs := make([]error, 100)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: fmt.Sprint("q-", i)}) })
	}
	wg.Wait()
	if took := time.Since(start); took > 50*patience {
		t.Errorf("%d writers were told after %v; each waited for itself", len(errs), took)
	}
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "held by another program") {
			t.Fatalf("PutVerdict = %v, want who is in the way", err)
		}
	}
	if n := countVerdicts(t, db); n != 0 { // readers are not in its way
		t.Errorf("%d verdicts were written", n)
	}
	if _, err := other.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: "q-after"}); err != nil {
		t.Errorf("after it let go: %v", err)
	}
}

func TestSettingsOfEveryConnection(t *testing.T) {
	db := openTest(t)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000", "trusted_schema": "0", "query_only": "1",
	} {
		var reader, writer string
		if err := db.reader.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&reader); err != nil {
			t.Fatal(err)
		}
		err := db.writer.run(t.Context(), func(t tx) error { return t.row("PRAGMA "+pragma, nil, &writer) })
		if err != nil {
			t.Fatal(err)
		}
		if pragma == "query_only" {
			if writer != "0" {
				t.Errorf("the writer has query_only = %s", writer)
			}
			writer = want
		}
		if reader != want || writer != want {
			t.Errorf("%s = %s for readers and %s for the writer, want %s", pragma, reader, writer, want)
		}
	}
}

func TestRequireVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.53.4": true, "3.53.5": true, "3.54.0": true, "3.54.1": true, "4.0.0": true, "3.100.0": true, "3.53.4.1": true,
		"3.53.3": false, "3.51.2": false, "3.9.9": false, "2.99.99": false, "3.53": false, "": false, "three": false,
	} {
		if err := requireVersion(version); (err == nil) != ok {
			t.Errorf("requireVersion(%q) = %v, want acceptance: %v", version, err, ok)
		}
	}
}

// A failed migration leaves the file as it was, and the next start retries.
func TestFailedMigrationChangesNothing(t *testing.T) {
	db := openTest(t)
	known := fstest.MapFS{}
	last := 0
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		known[f.Name()] = &fstest.MapFile{Data: text}
		if last, err = strconv.Atoi(f.Name()[:5]); err != nil {
			t.Fatal(err)
		}
	}
	next := func(text string) fstest.MapFS {
		all := maps.Clone(known)
		all[fmt.Sprintf("%05d_next.sql", last+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
		return all
	}
	migrateTo := func(text string) error {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		raw := openRaw(t, db.path)
		defer raw.Close()
		return migrateFrom(t.Context(), raw, db.path, next(text))
	}
	err = migrateTo("CREATE TABLE half (x INTEGER); INSERT INTO nowhere VALUES (1);")
	if err == nil || !strings.Contains(err.Error(), db.path) || !strings.Contains(err.Error(), fmt.Sprintf("from version %d to %d", last, last+1)) {
		t.Fatalf("the broken migration = %v", err)
	}
	if err := migrateTo("CREATE TABLE half (x INTEGER);"); err != nil {
		t.Fatalf("the mended migration = %v", err)
	}
	if err := migrateFrom(t.Context(), openRaw(t, db.path), db.path, known); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("schema version %d", last+1)) {
		t.Errorf("an older program = %v, want a refusal", err)
	}
}

func openRaw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
