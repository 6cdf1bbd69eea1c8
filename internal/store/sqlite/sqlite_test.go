package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger/ledgertest"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// TestMain also is the other processes of these tests, when told so.
func TestMain(m *testing.M) {
	if role := os.Getenv("SQLITE_TEST_ROLE"); role != "" {
		if err := play(role, os.Getenv("SQLITE_TEST_PATH")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := pace.AtOnce(pace.Rounds(8, 2)); err != nil { // they mostly wait
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func play(role, path string) error {
	if role == "full" {
		return playFull(path)
	}
	db, err := sqlite.Open(context.Background(), sqlite.Config{Path: path, LockWait: time.Minute})
	if err != nil {
		return err
	}
	switch role {
	case "open": // come, look and go
		if _, err := db.Ledger().Verdicts(context.Background(), ""); err != nil {
			return err
		}
	case "hold": // until killed
		fmt.Println("open")
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
	case "write": // say what is acknowledged, until killed
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() { writeForever(db.Ledger(), w) })
		}
		wg.Wait()
	case "queue": // likewise, until killed
		if where := os.Getenv("SQLITE_TEST_DIE"); where != "" {
			if err := dieAt(db, where); err != nil {
				return err
			}
		}
		return playQueue(db.Queue())
	case "settings": // likewise
		return playSettings(db.Live())
	}
	return db.Close()
}

func writeForever(s ledger.Store, w int) {
	for i := 1; ; i++ {
		v := bezoar.Verdict{ID: fmt.Sprintf("q-%d-%d", w, i), Reason: strings.Repeat("why ", 100)}
		l := bezoar.Letter{ID: fmt.Sprintf("dl-%d-%d", w, i), Fingerprint: bezoar.Fingerprint{byte(w + 1)}, Copies: 1}
		if err := s.PutVerdict(context.Background(), v); err != nil {
			panic(err)
		}
		stored, err := s.PutLetter(context.Background(), l)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s %s %d\n", v.ID, stored.ID, stored.Copies)
	}
}

func child(t *testing.T, role, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SQLITE_TEST_ROLE="+role, "SQLITE_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the killed process says %v", err)
	}
}

func open(t testing.TB, c sqlite.Config) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), c)
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

// made is a file without rows that has today's schema: migrations take longer
// than most tests do.
var made = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "sqlite-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "bezoar.db")
	db, err := sqlite.Open(context.Background(), sqlite.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// reopen opens a file that is there, or one that was made before.
func reopen(t testing.TB, c sqlite.Config) *sqlite.DB {
	t.Helper()
	if _, err := os.Stat(c.Path); errors.Is(err, os.ErrNotExist) {
		file, err := made()
		if err == nil {
			err = os.WriteFile(c.Path, file, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return open(t, c)
}

func TestLedger(t *testing.T) {
	var mu sync.Mutex
	opened := map[ledger.Store]*sqlite.DB{}
	configs := map[ledger.Store]sqlite.Config{}
	openAt := func(t *testing.T, c sqlite.Config) ledger.Store {
		db := reopen(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Ledger()], configs[db.Ledger()] = db, c
		return db.Ledger()
	}
	ledgertest.Run(t, ledgertest.Harness{
		Games: 25,
		Open: func(t *testing.T, maxLetters int) ledger.Store {
			return openAt(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "bezoar.db"), MaxLetters: maxLetters})
		},
		Reopen: func(t *testing.T, s ledger.Store) ledger.Store {
			mu.Lock()
			db, c := opened[s], configs[s]
			mu.Unlock()
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, c)
		},
	})
}

// What was acknowledged is there after kill -9, and the file is free at once.
func TestAcknowledgedSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	acknowledged := map[string]bool{}
	copies := map[string]int64{}
	for range 3 { // each life recovers the last one's log
		cmd, lines := child(t, "write", path)
		for range 40 {
			if !lines.Scan() {
				t.Fatalf("the writer stopped by itself: %v", lines.Err())
			}
			var verdict, letter string
			var n int64
			if _, err := fmt.Sscan(lines.Text(), &verdict, &letter, &n); err != nil {
				t.Fatal(err)
			}
			acknowledged[verdict] = true
			copies[letter] = max(n, copies[letter])
		}
		kill(t, cmd)
	}
	db := open(t, sqlite.Config{Path: path})
	verdicts, err := db.Ledger().Verdicts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		delete(acknowledged, v.ID)
	}
	if len(acknowledged) > 0 {
		t.Errorf("acknowledged verdicts are lost: %v", acknowledged)
	}
	for id, n := range copies {
		l, err := db.Ledger().Letter(t.Context(), id)
		if err != nil || l.Copies < n {
			t.Errorf("letter %s has %d copies, %v; %d were acknowledged", id, l.Copies, err, n)
		}
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	cmd, lines := child(t, "hold", path)
	if !lines.Scan() {
		t.Fatal("the first process did not open the file")
	}
	_, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, LockWait: time.Millisecond})
	if !errors.Is(err, sqlite.ErrInUse) {
		t.Fatalf("Open = %v, want ErrInUse", err)
	}
	for _, say := range []string{path, fmt.Sprintf("pid %d", cmd.Process.Pid), "postgres://"} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("%q does not mention %q", err, say)
		}
	}
	// One that waits takes over as soon as the first is gone.
	waiting := make(chan error, 1)
	go func() {
		db, err := sqlite.Open(context.Background(), sqlite.Config{Path: path, LockWait: time.Minute})
		if err == nil {
			err = db.Close()
		}
		waiting <- err
	}()
	kill(t, cmd)
	if err := <-waiting; err != nil {
		t.Errorf("the successor: %v", err)
	}
}

func TestSecondOpenInOneProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	open(t, sqlite.Config{Path: path})
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, LockWait: time.Millisecond}); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("Open = %v, want ErrInUse", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, sqlite.Config{Path: path}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want context.Canceled", err)
	}
}

// Goose has no lock on SQLite; ours serialises first starts.
func TestManyProcessesMigrateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	var children []*exec.Cmd
	for range 6 {
		cmd, _ := child(t, "open", path)
		children = append(children, cmd)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	open(t, sqlite.Config{Path: path})
}

func TestClosedStoreSaysSo(t *testing.T) {
	db := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "bezoar.db")})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if err := db.Ledger().PutVerdict(t.Context(), bezoar.Verdict{ID: "q-1"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("PutVerdict = %v, want that it is closed", err)
	}
	if _, err := db.Ledger().Verdicts(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Verdicts = %v, want that it is closed", err)
	}
}
