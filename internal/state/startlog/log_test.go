package startlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

func open(t testing.TB, dir string, slots int) (*Log, []Left) {
	t.Helper()
	log, left, err := Open(dir, slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log, left
}

func record(id string) Record {
	return Record{ID: id, Receipt: "r-" + id, Queue: "jobs", At: time.Unix(1700000000, 0).UTC(), Payload: bezoar.Fingerprint{1, 2}}
}

func begin(t testing.TB, log *Log, r Record) int {
	t.Helper()
	slots, err := log.Begin(r)
	if err != nil {
		t.Fatal(err)
	}
	if r.Running {
		must(t, log.Running(slots[0]))
	}
	return slots[0]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMain runs this binary as the owner that dies.
func TestMain(m *testing.M) {
	if dir := os.Getenv("OWNER_OF"); dir != "" {
		log, _, err := Open(dir, 3)
		if err != nil {
			panic(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			slots, err := log.Begin(record(id))
			if err == nil && id != "c" {
				err = log.Running(slots[0])
			}
			if err != nil {
				panic(err)
			}
		}
		fmt.Println("begun")
		_, _ = io.ReadAll(os.Stdin) // until it is killed
	}
	os.Exit(m.Run())
}

func TestWhatWasRunningWhenItsOwnerWasKilled(t *testing.T) {
	dir := t.TempDir()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), "OWNER_OF="+dir)
	out, err := owner.StdoutPipe()
	must(t, err)
	_, err = owner.StdinPipe()
	must(t, err)
	must(t, owner.Start())
	if _, err := fmt.Fscanln(out, new(string)); err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(dir, 3)
	var used *InUseError
	if !errors.As(err, &used) || used.PID != owner.Process.Pid || !strings.Contains(err.Error(), fmt.Sprint(owner.Process.Pid)) {
		t.Errorf("while it is in use by %d: %v", owner.Process.Pid, err)
	}
	must(t, owner.Process.Kill())
	_ = owner.Wait() // killed
	_, left := open(t, dir, 3)
	var ids []string
	for _, l := range left {
		if l.Ended != nil && l.Ended.Class == bezoar.Interrupted {
			l.ID += ", due"
		}
		ids = append(ids, l.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c, due"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestALifeOfRecords(t *testing.T) {
	dir := t.TempDir()
	log, left := open(t, dir, 2)
	if len(left) != 0 || log.Note() != "" {
		t.Fatalf("a new start log has %v, %q", left, log.Note())
	}
	running := record("running")
	slot := begin(t, log, record("done"))
	must(t, log.Done(slot))
	must(t, log.Clear(slot))
	slot = begin(t, log, running)
	running.Running, running.PID, running.Since = true, 77, 88
	must(t, log.Amend(slot, running))
	ended := record("ended")
	slot = begin(t, log, ended)
	ended.Running = true
	ended.Ended = &Ended{Class: bezoar.Bug, Failure: "f", Reason: "why"}
	must(t, log.Amend(slot, ended))
	waits := make(chan int)
	go func() { waits <- begin(t, log, record("third")) }()
	select {
	case n := <-waits:
		t.Fatalf("slot %d was given away twice", n)
	case <-time.After(10 * time.Millisecond):
	}
	must(t, log.Clear(slot))
	slot = <-waits
	must(t, log.Amend(slot, ended))
	must(t, log.Close())

	log, left = open(t, dir, 1)
	running.Boot, ended.Boot = statefile.Boot(), statefile.Boot()
	if diff := cmp.Diff([]Record{running, ended}, []Record{left[0].Record, left[1].Record}); diff != "" {
		t.Error(diff)
	}
	fresh := record("fresh")
	fresh.Running = true
	if n := begin(t, log, fresh); n == left[0].Slot || n == left[1].Slot {
		t.Error("a record that nobody has handled was overwritten")
	}
	must(t, log.Clear(left[0].Slot))
	must(t, log.Stopping())
	must(t, log.Close())

	_, left = open(t, dir, 4)
	classes := map[string]bezoar.Class{}
	for _, l := range left {
		classes[l.ID] = l.Ended.Class
	}
	if diff := cmp.Diff(map[string]bezoar.Class{"ended": bezoar.Bug, "fresh": bezoar.Interrupted}, classes); diff != "" {
		t.Errorf("after a stop that was asked for: %s", diff)
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	log, _ := open(t, dir, 2)
	begin(t, log, record("a"))
	b := begin(t, log, record("b"))
	if _, err := log.file.WriteAt([]byte{'x'}, at(b)+100); err != nil {
		t.Fatal(err)
	}
	must(t, log.Close())
	log, left := open(t, dir, 2)
	if len(left) != 1 || left[0].ID != "a" {
		t.Errorf("of a torn record is left %v", left)
	}
	must(t, log.Close())
	must(t, os.WriteFile(filepath.Join(dir, "starts"), []byte("something else"), 0o600))
	log, left = open(t, dir, 2)
	if len(left) != 0 || !strings.Contains(log.Note(), "starts.damaged") {
		t.Errorf("of something else is left %v, %q", left, log.Note())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "starts.damaged")); err != nil || string(text) != "something else" {
		t.Errorf("moved aside: %q %v", text, err)
	}
	if _, err := log.Begin(Record{ID: "x", Receipt: strings.Repeat("x", page)}); err == nil {
		t.Error("a record that does not fit was taken")
	}
}

func TestSyncsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, gate := 0, make(chan struct{})
		s := &syncer{sync: func() error {
			n++
			<-gate
			return nil
		}}
		for range 50 {
			go func() { must(t, s.wait()) }()
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if n != 2 {
			t.Errorf("%d syncs, want one that had begun and one for all the others", n)
		}
	})
	broken := &syncer{sync: func() error { return errors.New("the disk is gone") }}
	for range 2 {
		if broken.wait() == nil {
			t.Error("a failed sync counts")
		}
	}
}

func FuzzDecode(f *testing.F) {
	b, err := encode(record("a"))
	must(f, err)
	f.Add(b)
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := decode(b); ok && r.ID == "" {
			t.Errorf("%q is a record of no message", b)
		}
	})
}

// What a start costs, alone and with three others.
func BenchmarkBegin(b *testing.B) {
	for _, together := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(together), func(b *testing.B) {
			log, _ := open(b, b.TempDir(), 16)
			r := record("a")
			var wg sync.WaitGroup
			for range together {
				wg.Go(func() {
					for range b.N/together + 1 {
						slots, err := log.Begin(r)
						if err != nil {
							b.Error(err)
							return
						}
						_ = log.Running(slots[0])
						_ = log.Done(slots[0])
						_ = log.Clear(slots[0])
					}
				})
			}
			wg.Wait()
		})
	}
}

// When the machine died, what was due may have run.
func TestWhatWasDueWhenTheMachineDied(t *testing.T) {
	dir := t.TempDir()
	log, _ := open(t, dir, 2)
	log.boot = "another life of the machine"
	begin(t, log, record("a"))
	must(t, log.Close())
	if _, left := open(t, dir, 2); len(left) != 1 || left[0].Ended != nil {
		t.Errorf("left is %+v", left)
	}
}

// What had ended well is told apart from what was running.
func TestWhatWasDoneWhenItsOwnerDied(t *testing.T) {
	dir := t.TempDir()
	log, _ := open(t, dir, 2)
	slots, err := log.Begin(record("a"), record("b"))
	must(t, err)
	must(t, log.Running(slots[0]))
	must(t, log.Running(slots[1]))
	must(t, log.Done(slots[1]))
	must(t, log.Close())
	_, left := open(t, dir, 2)
	if len(left) != 2 || left[0].ID != "a" && left[1].ID != "a" {
		t.Fatalf("left is %+v", left)
	}
	for _, l := range left {
		if ended := l.Ended != nil && l.Ended.Class == bezoar.Done; !l.Running || ended != (l.ID == "b") {
			t.Errorf("%s is %+v", l.ID, l.Record)
		}
	}
}
