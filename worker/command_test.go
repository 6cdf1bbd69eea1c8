package worker_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// shell runs a script for each message.
func shell(script string) worker.Command {
	return worker.Command{Args: []string{"/bin/sh", "-c", script}}
}

// Every kind of end has its class, its number of attempts and its place, on queues
// that judge and on those that do not.
func TestEndsOfChildren(t *testing.T) {
	script := `
read -r body
case "$body" in
good*) exit 0 ;;
invalid*) echo "no such field" >&2; exit 65 ;;
segv*) kill -SEGV $$ ;;
abrt*) kill -ABRT $$ ;;
bug*) echo "Traceback (most recent call last):
  File \"/app/handler.py\", line 7, in work
    x = y['price']
KeyError: 'price'" >&2; exit 1 ;;
later*) if [ "$BEZOAR_RECEIVE_COUNT" -gt 3 ]; then exit 0; fi; exit 75 ;;
esac`
	want := map[string]string{
		"good":    "done done",
		"invalid": "invalid dead",
		"segv":    "crash retry, crash dead",
		"abrt":    "crash retry, crash dead",
		"bug":     "bug retry, bug retry, bug dead",
		"later":   "transient retry, transient retry, transient retry, done done",
	}
	testEnds(t, shell(script), 0, want)
}

// A body that is a plain id is recognised as any other is: what kills its handler
// twice is set aside, and where there is no place for it, it does not run again.
func TestABriefBodyThatKills(t *testing.T) {
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
		r.send("jobs", "18", "17")
		r.start(worker.Config{
			Concurrency: 1,
			Source:      r.source(kind, "jobs"), Command: shell(`read -r id; [ "$id" = 18 ] || kill -SEGV $$`), Retry: backoff.Config{Strategy: backoff.Immediate},
		})
		all := r.wait(func(all []worker.Event) bool { return len(all) >= 3 })
		if kind == "foreign" {
			all = slices.DeleteFunc(all, func(e worker.Event) bool { return e.Class != bezoar.Crash }) // the other may be the last
			if len(all) != 2 || all[1].Outcome != worker.OutcomeLeft {
				t.Errorf("its deaths were %+v", all)
			}
			r.counts("jobs", 0, 1, 0) // for a while
			return
		}
		r.counts("jobs", 0, 0, 0)
		r.counts("jobs-dlq", 1, 0, 0)
	})
}

// Children that hang are killed, though they do not listen.
func TestEndsOfChildrenThatHang(t *testing.T) {
	command := shell(`trap '' TERM; while :; do sleep 10; done`)
	command.Grace = 50 * time.Millisecond
	testEnds(t, command, 300*time.Millisecond, map[string]string{"hang": "timeout retry, timeout retry, timeout retry, timeout dead"})
}

// testEnds sends a message for each name, and compares its ends.
func testEnds(t *testing.T, command worker.Command, timeout time.Duration, want map[string]string) {
	t.Helper()
	events, letters := 0, 0
	for _, ends := range want {
		events += 1 + strings.Count(ends, ", ")
		letters += strings.Count(ends, " dead")
	}
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", func(s *queue.Settings) {
			s.Quarantine.Off = kind == "foreign"
			s.Visibility = time.Minute
		})
		r.create("dead", nil)
		ids := map[string]string{}
		for name := range want {
			in := queue.SendInput{Body: []byte(name + ", the message of its kind")}
			sent, err := r.engine.Send(t.Context(), "jobs", in)
			if err != nil {
				t.Fatal(err)
			}
			ids[sent.ID] = name
		}
		source := r.source(kind, "jobs")
		if s, ok := source.(*worker.SQSQueue); ok && kind == "foreign" {
			s.DeadLetter = r.foreign + "dead"
		}
		r.start(worker.Config{
			Source: source, Command: command, Timeout: timeout, Retry: backoff.Config{Strategy: backoff.Immediate}, State: t.TempDir(),
		})
		dead := "jobs-dlq"
		if kind == "foreign" {
			dead = "dead"
		}
		r.counts("jobs", 0, 0, 0)
		r.counts(dead, int64(letters), 0, 0)
		all := r.wait(func(all []worker.Event) bool { return len(all) >= events })
		got := map[string]string{}
		for _, e := range all {
			name := ids[e.ID]
			if got[name] != "" {
				got[name] += ", "
			}
			got[name] += fmt.Sprint(e.Class, " ", e.Outcome)
		}
		for name, ends := range want {
			if kind != "foreign" { // there, the queue says what becomes of it
				ends = strings.NewReplacer(" retry", " reported", " dead", " reported").Replace(ends)
			}
			// The next delivery may end before somebody was told of the last one.
			if a, b := sorted(got[name]), sorted(ends); a != b {
				t.Errorf("%s ended %q, want %q", name, a, b)
			}
		}
		for _, m := range r.messages(dead) {
			text := fmt.Sprintf("%+v %+v", m.Letter, m.Attributes)
			if name, _, _ := strings.Cut(string(m.Body), ","); name == "bug" && !strings.Contains(text, "KeyError") {
				t.Errorf("the letter of %s does not say what failed: %s", name, text)
			}
		}
	})
}

func sorted(list string) string {
	all := strings.Split(list, ", ")
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// What a child learns of its message, and what of it is told nobody.
func TestWhatAChildLearns(t *testing.T) {
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", nil)
		if _, err := r.engine.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("the body"), Group: "g1", Attributes: map[string]queue.Attribute{
			"Content-Type": {DataType: "String", String: "text/plain"}, "n": {DataType: "Number", String: "7"}, "raw": {DataType: "Binary", Binary: []byte{0, 1}},
		}}); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		out := map[string]*bytes.Buffer{"stdout": {}, "stderr": {}}
		command := shell(`cat; echo; env | grep BEZOAR_ | grep -v -e MARK -e JOB | sort; echo more >&2`)
		command.Output = func(*worker.Message) (io.WriteCloser, io.WriteCloser) {
			return &locked{mu: &mu, Buffer: out["stdout"]}, &locked{mu: &mu, Buffer: out["stderr"]}
		}
		r.start(worker.Config{Source: r.source(kind, "jobs"), Command: command})
		e := r.waitFor(1)[0]
		mu.Lock()
		defer mu.Unlock()
		for _, want := range []string{
			"the body\n", "BEZOAR_ATTRIBUTE_CONTENT_TYPE=text/plain\n", "BEZOAR_ATTRIBUTE_N=7\n", "BEZOAR_ATTRIBUTE_RAW=AAE=\n",
			"BEZOAR_QUEUE=jobs\n", "BEZOAR_RECEIVE_COUNT=1\n", "BEZOAR_MESSAGE_ID=" + e.ID + "\n", "BEZOAR_GROUP=g1\n", "BEZOAR_DEADLINE=20",
		} {
			if !strings.Contains(out["stdout"].String(), want) {
				t.Errorf("%q is not in %s", want, out["stdout"])
			}
		}
		if out["stderr"].String() != "more\n" {
			t.Errorf("stderr is %q", out["stderr"])
		}
	})
}

type locked struct {
	*bytes.Buffer
	mu *sync.Mutex
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

func (l *locked) Close() error { return nil }

// Rows that a child blames become letters by themselves; the others are done,
// also when the child stopped because of the bad ones.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		script string
		want   []string // letters
		done   string   // what the last runs worked on
		class  bezoar.Class
	}{
		"and the rest is done": {
			`cat >/dev/null; echo '{"rows":[{"index":1,"reason":"no price"},3]}' >&3`,
			[]string{"row one: no price", "row three: row 4 is bad"},
			"", bezoar.Done,
		},
		"and the rest is not": {
			`cat >"$OUT/body"; if grep -q one "$OUT/body"; then echo '{"rows":[1]}' >&3; exit 65; fi; cat "$OUT/body" >> "$OUT/done"`,
			[]string{"row one: exit status 65"},
			"row zero\nrow two\nrow three\n", bezoar.Done,
		},
		"one after another": {
			`cat >"$OUT/body"; n=$(grep -n -m1 -e zero -e three "$OUT/body" | cut -d: -f1); if [ -n "$n" ]; then echo "{\"rows\":[$((n-1))]}" >&3; exit 65; fi; cat "$OUT/body" >> "$OUT/done"`,
			[]string{"row three: exit status 65", "row zero: exit status 65"},
			"row one\nrow two\n", bezoar.Done,
		},
		"all of them": {
			`cat >/dev/null; echo '{"rows":[0,1,2,3],"reason":"all bad"}' >&3; exit 65`,
			[]string{"row one: all bad", "row three: all bad", "row two: all bad", "row zero: all bad"},
			"", bezoar.Done,
		},
		"out of the body": {
			`cat >/dev/null; echo '{"rows":[7]}' >&3; exit 65`,
			[]string{"row zero\nrow one\nrow two\nrow three\n: exit status 65"},
			"", bezoar.Invalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachSource(t, func(t *testing.T, r *rig, kind string) {
				r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
				r.create("dead", nil)
				r.send("jobs", "row zero\nrow one\nrow two\nrow three\n")
				at := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "_"))
				if err := os.Mkdir(at, 0o700); err != nil {
					t.Fatal(err)
				}
				command := shell(tc.script)
				command.Env = []string{"OUT=" + at}
				source := r.source(kind, "jobs")
				if s, ok := source.(*worker.SQSQueue); ok && kind == "foreign" {
					s.DeadLetter = r.foreign + "dead"
				}
				r.start(worker.Config{Source: source, Command: command})
				e := r.waitFor(1)[0]
				if e.Class != tc.class {
					t.Errorf("it ended as %+v", e)
				}
				dead := "jobs-dlq"
				if kind == "foreign" {
					dead = "dead"
				}
				r.counts(dead, int64(len(tc.want)), 0, 0)
				r.counts("jobs", 0, 0, 0)
				var letters []string
				for _, m := range r.messages(dead) {
					reason := m.Attributes["BezoarReason"].String
					if m.Letter != nil {
						reason = m.Letter.Reason
					}
					letters = append(letters, string(m.Body)+": "+reason)
				}
				slices.Sort(letters)
				if diff := cmp.Diff(tc.want, letters); diff != "" && !strings.Contains(tc.want[0], "exit status") {
					t.Error(diff)
				}
				if done, _ := os.ReadFile(filepath.Join(at, "done")); string(done) != tc.done {
					t.Errorf("done was %q, want %q", done, tc.done)
				}
			})
		})
	}
}

// Who says that something is not done, in a way that nobody understands, has not
// done it.
func TestReportsThatAreNotUnderstood(t *testing.T) {
	for name, tc := range map[string]struct{ said, reason string }{
		"no JSON":            {`{"rows":[`, "unexpected end of JSON"},
		"a class of its own": {`{"class":"broken"}`, "broken"},
		"two lines":          {`{}\n{"class":"bug"}`, "after the first line"},
		"rows of no body":    {`{"rows":[7]}`, "not among its 1"},
		"some rows of none":  {`{"rows":[0,1]}`, "not among its 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.create("jobs", nil)
			r.send("jobs", "only row\n")
			command := shell(`cat >/dev/null; printf "$SAID" >&3`)
			command.Env = []string{"SAID=" + tc.said}
			r.start(worker.Config{Source: r.source("direct", "jobs"), Command: command})
			if e := r.waitFor(1)[0]; e.Class != bezoar.Bug || !strings.Contains(e.Reason, tc.reason) {
				t.Errorf("it ended as %+v, want a bug for %q", e, tc.reason)
			}
		})
	}
}

// A command that cannot be started stops the worker, and no message is to blame.
func TestACommandThatIsNotThere(t *testing.T) {
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", nil)
		r.send("jobs", "an innocent message")
		w, err := worker.New(worker.Config{
			Source: r.source(kind, "jobs"), Command: worker.Command{Args: []string{"/nowhere/at/all"}}, Observe: r.events.add,
		})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Run(t.Context())
		var spawn *worker.SpawnError
		if !errors.As(err, &spawn) || !strings.Contains(err.Error(), "/nowhere/at/all") {
			t.Errorf("it ended with %v", err)
		}
		if e := r.waitFor(1)[0]; e.Outcome != worker.OutcomeReturned || e.Class != bezoar.SpawnFailed {
			t.Errorf("event %+v", e)
		}
		r.counts("jobs", 1, 0, 0)
		if m := r.messages("jobs")[0]; kind != "foreign" && m.Receives != 0 {
			t.Errorf("it cost a receive: %d", m.Receives)
		}
	})
}

// Where nothing judges, a worker that finds no place for letters says so and
// leaves the message where it is.
func TestNowhereToSetAside(t *testing.T) {
	r := newRig(t)
	r.create("jobs", plain)
	r.send("jobs", "an invalid message")
	r.start(worker.Config{Source: r.source("foreign", "jobs"), Command: shell("exit 65")})
	e := r.waitFor(1)[0]
	if e.Outcome != worker.OutcomeLeft || e.Delay < time.Minute || !strings.Contains(e.Why, "no dead-letter queue") {
		t.Errorf("event %+v", e)
	}
	r.counts("jobs", 0, 1, 0) // invisible for a while
}

// The dead-letter queue of the redrive policy is found.
func TestRedrivePolicy(t *testing.T) {
	r := newRig(t)
	r.create("dead.fifo", plain)
	r.create("jobs.fifo", func(s *queue.Settings) {
		plain(s)
		s.DeadLetter = queue.DeadLetter{Queue: "dead.fifo", MaxReceives: 3}
	})
	r.send("jobs.fifo", "an invalid message")
	r.start(worker.Config{Source: r.source("foreign", "jobs.fifo"), Command: shell("echo odd >&2; exit 65")})
	r.counts("dead.fifo", 1, 0, 0)
	var said []string
	said = append(said, slices.Sorted(maps.Keys(r.messages("dead.fifo")[0].Attributes))...)
	if diff := cmp.Diff([]string{"BezoarClass", "BezoarFailure", "BezoarMessage", "BezoarOrigin", "BezoarReason"}, said); diff != "" {
		t.Error(diff)
	}
}
