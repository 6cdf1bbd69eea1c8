package supervise

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Every way for a worker to die, with a request in flight, in one worker's
// consecutive lives.
func TestDeathsAreToldApart(t *testing.T) {
	r := run(t, "server", nil)
	kill := func(sig syscall.Signal) func() {
		return func() { _ = syscall.Kill(r.Status()[0].PID, sig) }
	}
	get := func(path string) func() { return func() { _, _ = r.get("w-1", path) } }
	for i, c := range []struct {
		name   string
		do     func()
		down   string // what the registry is told
		code   int
		signal string
		detail string
		stderr string
	}{
		{"kill -9", kill(syscall.SIGKILL), "crash", -1, "SIGKILL", "signal: killed", ""},
		{"segmentation fault", kill(syscall.SIGSEGV), "crash", 2, "", "exit code 2", "SIGSEGV"}, // Go reports it and exits
		{"panic", get("/panic"), "crash", 2, "", "exit code 2", "panic: swallowed a pill"},
		{"exit 3", get("/exit?code=3&say=adieu"), "crash", 3, "", "exit code 3", "adieu"},
		{"exit 0 is a crash too", get("/exit?code=0"), "crash", 0, "", "exit code 0", ""},
		{"exit 137", get("/exit?code=137"), "crash", 137, "SIGKILL", "as shells report SIGKILL", ""},
		{"out of memory by its words", get("/exit?code=1&say=x%0AMemoryError%0A"), "oom", 1, "", "out of memory", "MemoryError"},
		{"operator's SIGTERM", kill(syscall.SIGTERM), "planned", -1, "SIGTERM", "it was stopped from outside", ""},
		{"operator's SIGINT", kill(syscall.SIGINT), "planned", -1, "SIGINT", "it was stopped from outside", ""},
		{"exit 143", get("/exit?code=143"), "planned", 143, "SIGTERM", "it was stopped from outside", ""},
		{"exit 130", get("/exit?code=130"), "planned", 130, "SIGINT", "it was stopped from outside", ""},
	} {
		r.reg.wait(t, "up", i+1)
		epoch := r.reg.epoch("w-1")
		c.do()
		// Whoever saw the connection break asks now, all at once.
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				h := r.Check(t.Context(), "w-1", epoch, fleet.Broken)
				for late := time.Now().Add(time.Minute); h == fleet.Alive && time.Now().Before(late); { // a busy machine is slow to write a dump
					h = r.Check(t.Context(), "w-1", epoch, fleet.Broken)
				}
				if h == fleet.Gone && r.reg.epoch("w-1") == epoch {
					t.Errorf("%s: Check returned gone before Down was called", c.name)
				}
				if h != fleet.Gone {
					t.Errorf("%s: Check = %v, want gone", c.name, h)
				}
			})
		}
		wg.Wait()
		if got := r.reg.count("down"); got != i+1 {
			t.Fatalf("%s: %d ends after %d deaths", c.name, got, i+1)
		}
		end := r.reg.end()
		got := end.Class.String()
		if end.Planned {
			got = "planned"
		}
		if got != c.down || end.ExitCode != c.code || end.Signal != c.signal || !strings.Contains(end.Detail, c.detail) ||
			!strings.Contains(strings.Join(end.Stderr, "\n"), c.stderr) || end.At.IsZero() {
			t.Errorf("%s: ended as %s, %+v", c.name, got, end)
		}
	}
	r.reg.wait(t, "up", 12)
	until(t, "the status tells of it", func() bool {
		st := r.Status()[0]
		return st.State == Ready && st.Restarts == 11 && st.LastEnd != nil && st.LastEnd.ExitCode == 130
	})
}

func TestNeitherOutputNorEvidenceHasSecrets(t *testing.T) {
	known := redact.Known("open-sesame")
	r := run(t, "server", func(c *Config) { c.Known = known })
	r.reg.wait(t, "up", 1)
	r.mustGet("w-1", "/say?out=key+open-sesame&err=served+/x%3Ftoken=hush+open-sesame")
	until(t, "the output arrives", func() bool {
		all := r.out.all()
		return strings.Contains(all, "w-1 stdout key [redacted]") && strings.Contains(all, "w-1 stderr served /x?token=hush [redacted]")
	})
	_, _ = r.get("w-1", "/exit?code=3&say=adieu,+open-sesame")
	r.reg.wait(t, "down", 1)
	if got, want := fmt.Sprintf("%q", r.reg.end().Stderr), `["served /x?token=[redacted] [redacted]" "adieu, [redacted]"]`; got != want {
		t.Errorf("the evidence is %s, want %s", got, want)
	}
}

// Programs that write by /dev/stdout and /dev/stderr do so as another user, too.
func TestWorkersOfAnotherUserOpenTheirOutput(t *testing.T) {
	if _, err := proc.FindUser("nobody"); err != nil {
		t.Skip(err)
	}
	r := run(t, "server", func(c *Config) {
		c.User, c.Dir = "nobody", "/"
		c.Command = []string{"sh", "-c", "echo well >/dev/stdout; echo well >/dev/stderr; exec sleep 600"}
	})
	until(t, "the output arrives", func() bool {
		all := r.out.all()
		return strings.Contains(all, "w-1 stdout well") && strings.Contains(all, "w-1 stderr well")
	})
}

func TestLiveWorkerStaysAlive(t *testing.T) {
	r := run(t, "server", nil)
	r.reg.wait(t, "up", 1)
	epoch := r.reg.epoch("w-1")
	if h := r.Check(t.Context(), "w-1", epoch, fleet.Broken); h != fleet.Alive {
		t.Errorf("Check of a live worker = %v", h)
	}
	until(t, "a worker that answers is found alive", func() bool { // a look may end before its answer comes
		return r.Check(t.Context(), "w-1", epoch, fleet.Overdue) == fleet.Alive
	})
	if h := r.Check(t.Context(), "w-1", epoch+1, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check of another epoch = %v", h)
	}
	if h := r.Check(t.Context(), "w-9", epoch, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check of nobody = %v", h)
	}
	r.Kill("w-1", epoch+1, "another epoch")
	r.Kill("w-9", epoch, "nobody")
	r.mustGet("w-1", "/about")
}

func TestHangIsKilled(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Grace = time.Hour }) // it gets none
	r.reg.wait(t, "up", 1)
	epoch := r.reg.epoch("w-1")
	pid := r.Status()[0].PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "it has stopped", func() bool { return stateOf(pid) == 'T' })
	if h := r.Check(t.Context(), "w-1", epoch, fleet.Overdue); h != fleet.Unresponsive {
		t.Errorf("Check(Overdue) = %v, want unresponsive", h)
	}
	r.Kill("w-1", epoch, "an attempt was overdue")
	r.Kill("w-1", epoch, "again")
	r.reg.wait(t, "down w-1 timeout", 1)
	if end := r.reg.end(); end.Planned || end.Class != bezoar.Timeout || end.Detail != "killed: again" && end.Detail != "killed: an attempt was overdue" {
		t.Errorf("end %+v", end)
	}
	r.reg.wait(t, "up", 2)
}

func TestExitThatWasAnnouncedIsPlanned(t *testing.T) {
	r := run(t, "polite", func(c *Config) {
		c.Replicas = 2
		c.Health.Path, c.Health.Interval = "/healthz", 20*time.Millisecond
	})
	r.reg.wait(t, "up", 2)
	r.mustGet("w-1", "/status?code=503")
	r.reg.wait(t, "sick w-1", 1)
	until(t, "it says that it gets no work", func() bool { return r.Status()[0].State == Draining })
	r.mustGet("w-2", "/status?code=503")
	r.mustGet("w-1", "/status?code=200")
	r.reg.wait(t, "well w-1", 1)
	until(t, "it says that it is ready", func() bool { return r.Status()[0].State == Ready })
	if r.reg.count("down") != 0 {
		t.Errorf("a sick worker was ended: %q", r.reg.entries())
	}
	r.reg.wait(t, "sick w-2", 1)
	if err := syscall.Kill(r.Status()[1].PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.reg.wait(t, "down w-2 planned", 1)
	if end := r.reg.end(); end.ExitCode != 0 || !strings.Contains(end.Detail, "announced") {
		t.Errorf("end %+v", end)
	}
	r.mustGet("w-1", "/status?code=503")
	r.reg.wait(t, "sick w-1", 2)
}

func TestNothingOutlivesItsWorker(t *testing.T) {
	r := run(t, "server", nil)
	for i, session := range []string{"same", "own"} {
		r.reg.wait(t, "up", i+1)
		epoch := r.reg.epoch("w-1")
		left, err := strconv.Atoi(r.mustGet("w-1", "/child?session="+session))
		if err != nil || !lives(left) {
			t.Fatalf("the worker's child is %d, %v", left, err)
		}
		began := time.Now()
		if err := syscall.Kill(r.Status()[0].PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if h := r.Check(t.Context(), "w-1", epoch, fleet.Broken); h != fleet.Gone {
			t.Errorf("%s session: Check = %v, want gone, whoever holds the pipe", session, h)
		}
		if took := time.Since(began); took > time.Minute { // the pipe is held for an hour
			t.Errorf("%s session: the end was reported after %v", session, took)
		}
		until(t, "the worker's child is dead", func() bool { return !lives(left) })
	}
}

// A worker that says 50 MB costs a few KB.
func TestFloodOfOutput(t *testing.T) {
	for _, c := range []struct{ name, end string }{{"in lines", "%0A"}, {"in one line", ""}} {
		t.Run(c.name, func(t *testing.T) {
			var bytes, longest int
			var mu sync.Mutex
			r := run(t, "server", func(cfg *Config) {
				cfg.Output = func(_ string, _ Stream, line []byte) {
					mu.Lock()
					defer mu.Unlock()
					bytes += len(line)
					longest = max(longest, len(line))
				}
			})
			r.reg.wait(t, "up", 1)
			debug.FreeOSMemory()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r.mustGet("w-1", "/flood?mb=50&end="+c.end)
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 4<<20 {
				t.Errorf("the heap grew by %d KiB", grown>>10)
			}
			_, _ = r.get("w-1", "/exit?code=1")
			r.reg.wait(t, "down", 1)
			end := r.reg.end()
			if len(end.Stderr) == 0 || len(end.Stderr) > tailLines || !strings.Contains(cause(end.Stderr), "last words") && c.end != "" {
				t.Errorf("the evidence has %d lines, the last is %.80q", len(end.Stderr), cause(end.Stderr))
			}
			for _, l := range end.Stderr {
				if len(l) > tailWidth {
					t.Errorf("a line of evidence has %d bytes", len(l))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if c.end != "" && bytes < 49<<20 || longest > MaxLine+len(cutMark) {
				t.Errorf("%d bytes came out, the longest line has %d", bytes, longest)
			}
		})
	}
}

// An Output that blocks holds its worker up, not the news of its death.
func TestBlockedOutputDoesNotHideADeath(t *testing.T) {
	release := make(chan struct{})
	r := run(t, "server", func(c *Config) {
		c.Output = func(_ string, stream Stream, _ []byte) {
			if stream == Stderr {
				<-release
			}
		}
	})
	defer close(release)
	r.reg.wait(t, "up", 1)
	epoch := r.reg.epoch("w-1")
	_, _ = r.get("w-1", "/exit?code=1&say=why%0A")
	if h := r.Check(t.Context(), "w-1", epoch, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check = %v, want gone", h)
	}
	if end := r.reg.end(); fmt.Sprint(end.Stderr) != "[why]" {
		t.Errorf("end %+v, want its last words", end)
	}
}

// A hundred lives use no more files than one.
func TestManyLivesLeaveNothing(t *testing.T) {
	r := run(t, "", func(c *Config) {
		c.Command = []string{"sh", "-c", "echo out; echo err >&2; exit 1"}
		c.Replicas = 4
		c.Backoff.Base, c.Backoff.Cap = time.Millisecond, time.Millisecond
	})
	files := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	lived := func() (n int64) {
		for _, st := range r.Status() {
			n += st.Restarts
		}
		return n
	}
	until(t, "a few have lived", func() bool { return lived() >= 10 })
	before := files()
	until(t, "a hundred have lived", func() bool { return lived() >= 100 })
	// At either moment some are alive or being buried, with two pipes and a
	// handle each.
	if after := files(); after > before+50 {
		t.Errorf("%d files were open after ten lives, %d after a hundred", before, after)
	}
	r.stop()
	if n := len(r.ports.taken); n != 0 {
		t.Errorf("%d ports are still taken", n)
	}
}
