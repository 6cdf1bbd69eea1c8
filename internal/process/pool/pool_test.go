package pool_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/pool"
)

// A message comes as it was sent, and an answer as it was given.
func TestDo(t *testing.T) {
	p := start(t, config(t, "normal"))
	job := child.Job{Message: child.Message{ID: "m1", Receives: 3, Group: "g", Attributes: map[string]string{"b": "2", "a": "\"\n"}}, Timeout: time.Minute}
	for _, c := range []struct{ name, body, want string }{
		{"text", "echo \"höflich\"\n\u2028\x00\\", `{"base64":false,"body":"echo \"höflich\"\n\u2028\u0000\\","rest":[3,{"a":"\"\n","b":"2"},"g",1]}`},
		{"binary", "echo \xff\xfe\x00", `{"base64":true,"body":"echo \ufffd\ufffd\u0000","rest":[3,{"a":"\"\n","b":"2"},"g",1]}`},
		{"a mebibyte", "echo " + strings.Repeat("x", pool.MaxBody-5), `{"base64":false,"body":"1048576","rest":[3,{"a":"\"\n","b":"2"},"g",1]}`},
		{"a mebibyte of escapes", "echo " + strings.Repeat("\x01", pool.MaxBody-5), `{"base64":false,"body":"1048576","rest":[3,{"a":"\"\n","b":"2"},"g",1]}`},
		{"a binary mebibyte", "echo " + strings.Repeat("\xff", pool.MaxBody-5), `{"base64":true,"body":"1048576","rest":[3,{"a":"\"\n","b":"2"},"g",1]}`},
	} {
		j := job
		j.Stdin = []byte(c.body)
		res := p.Do(t.Context(), j)
		if res.Class != bezoar.Done || res.Report == nil || res.Report.Reason != c.want {
			t.Errorf("%s: %+v\nreport %+v\nwant %s", c.name, res, res.Report, c.want)
		}
		if res.Elapsed <= 0 {
			t.Errorf("%s: no time elapsed", c.name)
		}
	}
	if res := p.do("say " + `,"class":"throttled","retry_after":"90s","downstream":"api","failure":"429","rows":[1,{"index":2,"reason":"odd"}]`); res.Class != bezoar.Throttled ||
		fmt.Sprint(*res.Report) != "{throttled  429 1m30s api [{1  } {2 odd }]}" {
		t.Errorf("%+v, %+v", res, res.Report)
	}
}

func TestTooLarge(t *testing.T) {
	p := start(t, config(t, "normal"))
	for _, j := range []child.Job{
		{Stdin: make([]byte, pool.MaxBody+1)},
		{Message: child.Message{ID: strings.Repeat("x", pool.MaxID+1)}},
		{Message: child.Message{Attributes: map[string]string{"a": strings.Repeat("x", pool.MaxBeside)}}},
	} {
		if res := p.Do(t.Context(), j); res.Class != bezoar.Invalid || res.Detail == "" {
			t.Errorf("%+v, want invalid", res)
		}
	}
}

// Whatever a child says, the message it held gets the class that is fair to it,
// and the next message is not harmed.
func TestAnswers(t *testing.T) {
	p := start(t, config(t, "normal"))
	long := strings.Repeat("x", pool.MaxAnswer)
	for _, c := range []struct {
		name, says string
		class      bezoar.Class
		detail     string // a part of it
		out        string // what counts as printed
		same       bool   // the child goes on
	}{
		{"plain", `{"bezoar":1,"id":"ID"}` + "\n", bezoar.Done, "", "", true},
		{"carriage return", `{"bezoar":1,"id":"ID"}` + "\r\n", bezoar.Done, "", "", true},
		{"spaces and another order", ` { "id" : "ID", "class" : "invalid", "bezoar" : 1 } ` + "\n", bezoar.Invalid, "answered invalid", "", true},
		{"prints", "one\n\x00\xff\n{\"level\":\"info\"}\n{\"bezoar\":1,\"id\":\"ID\"}\n", bezoar.Done, "", "one\n\x00\xff\n{\"level\":\"info\"}\n", true},
		{"a log of another bezoar", `{"bezoar":"hello","id":"ID"}` + "\n" + `{"bezoar":1,"id":"ID"}` + "\n", bezoar.Done, "", `{"bezoar":"hello","id":"ID"}` + "\n", true},
		{"a print without an end", `working... {"bezoar":1,"id":"ID"}` + "\n", bezoar.Done, "", "", true},
		{"a very long print", long + long + "\n" + `{"bezoar":1,"id":"ID"}` + "\n", bezoar.Done, "", (long + long + "\n")[2*len(long)+1-child.DefaultTail:], true},
		{"another hello", `{"bezoar":1}` + "\n" + `{"bezoar":1,"id":"ID"}` + "\n", bezoar.Done, "", "", true},
		{"a class that there is not", `{"bezoar":1,"id":"ID","class":"banana"}` + "\n", bezoar.Bug, `class "banana" is unknown`, "", true},
		{"a class that is ours", `{"bezoar":1,"id":"ID","class":"interrupted"}` + "\n", bezoar.Bug, "a child may not report class", "", true},
		{"garbled", `{"bezoar":1,"id":"ID"` + "\n", bezoar.Bug, "a garbled answer: not a JSON object", "", false},
		{"another version", `{"bezoar":2,"id":"ID"}` + "\n", bezoar.Bug, "version 2 of the protocol", "", false},
		{"a number as id", `{"bezoar":1,"id":7}` + "\n", bezoar.Bug, "id is 7", "", false},
		{"too long", `{"bezoar":1,"id":"ID","reason":"` + long + `"}` + "\n", bezoar.Bug, "longer than 65536 bytes", "", false},
		{"wrong id", `{"bezoar":1,"id":"m0"}` + "\n", bezoar.Transient, `an answer to "m0"`, "", false},
		{"twice", `{"bezoar":1,"id":"ID"}` + "\n" + `{"bezoar":1,"id":"ID"}` + "\n", bezoar.Done, "", "", false},
	} {
		before := p.pid()
		res := p.do("raw " + base64.StdEncoding.EncodeToString([]byte(c.says)))
		if res.Class != c.class || !strings.Contains(res.Detail, c.detail) || !c.same && c.detail != "" && !strings.Contains(res.Detail, "the line protocol was broken") {
			t.Errorf("%s: %v, %q, want %v, %q", c.name, res.Class, res.Detail, c.class, c.detail)
		}
		if c.same && string(res.Stdout) != strings.ReplaceAll(c.out, "ID", "m1") {
			t.Errorf("%s: printed %.100q, want %.100q", c.name, res.Stdout, c.out)
		}
		if after := p.pid(); (before == after) != c.same {
			t.Errorf("%s: the child was %d and is %d, want the same: %v", c.name, before, after, c.same)
		}
	}
}

// A death costs the message that was held, and says how.
func TestDeaths(t *testing.T) {
	p := start(t, config(t, "normal"))
	half := base64.StdEncoding.EncodeToString([]byte(`{"bezoar":1,"id":"ID"}`))
	for _, c := range []struct {
		body   string
		class  bezoar.Class
		detail string
		stderr string
	}{
		{"exit 3", bezoar.Bug, "exit code 3", "leaving with 3\n"},
		{"exit 0", bezoar.Bug, "ended without an answer: exit code 0", "leaving with 0\n"},
		{"exit 65", bezoar.Invalid, "exit code 65", "leaving with 65\n"},
		{"exit 75", bezoar.Transient, "exit code 75", "leaving with 75\n"},
		{"exit 127", bezoar.Bug, "exit code 127", "leaving with 127\n"},
		{"exit 139", bezoar.Crash, "SIGSEGV", "leaving with 139\n"},
		{"die 9", bezoar.Crash, "signal: killed", "dying of 9\n"},
		{"raw-exit " + half, bezoar.Bug, "exit code 3", ""}, // a line without its end is no answer
	} {
		before := p.pid()
		res := p.do(c.body)
		if res.Class != c.class || !strings.Contains(res.Detail, c.detail) {
			t.Errorf("%s: %v, %q, want %v, %q", c.body, res.Class, res.Detail, c.class, c.detail)
		}
		if got := string(res.Stderr); !strings.HasPrefix(got, c.stderr) {
			t.Errorf("%s: stderr %q, want %q", c.body, got, c.stderr)
		}
		if res.Report != nil || res.MaxRSS == 0 && c.body[:3] != "raw" {
			t.Errorf("%s: report %v, %d bytes", c.body, res.Report, res.MaxRSS)
		}
		if after := p.pid(); before == after {
			t.Errorf("%s: child %d lives on", c.body, before)
		}
	}
}

// A child that is killed from outside in the middle of a message.
func TestKilledMidMessage(t *testing.T) {
	p := start(t, config(t, "normal"))
	begun := make(chan int, 1)
	ended := make(chan child.Result, 1)
	go func() {
		ended <- p.Do(t.Context(), child.Job{Stdin: []byte("hang"), Started: func(pid int) { begun <- pid }})
	}()
	if err := syscall.Kill(<-begun, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if res := <-ended; res.Class != bezoar.Crash || !res.Unexplained {
		t.Errorf("%+v, want an unexplained crash", res)
	}
}

// A child that dies while it has nothing to do costs no message, and is replaced.
func TestKilledIdle(t *testing.T) {
	p := start(t, config(t, "normal"))
	for range 5 {
		pid := p.pid()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the child is gone", func() bool { return syscall.Kill(pid, 0) != nil })
		if after := p.pid(); after == pid {
			t.Error("the dead child answers")
		}
	}
}

// An answer that nobody asked for ends a child, and blames no message.
func TestStrayAnswer(t *testing.T) {
	p := start(t, config(t, "normal"))
	pid := p.pid()
	if res := p.do("again"); res.Class != bezoar.Done {
		t.Fatalf("%+v", res)
	}
	eventually(t, "the child is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	if res := p.do("echo"); res.Class != bezoar.Done {
		t.Fatalf("%+v", res)
	}
}

// Memory is limited for as long as the child lives; who meets the limit is to
// blame.
func TestMemory(t *testing.T) {
	cfg := config(t, "normal")
	cfg.Child.Memory, cfg.Growth = 96<<20, -1
	p := start(t, cfg)
	if res := p.do("grow 1000000"); res.Class != bezoar.Done {
		t.Fatalf("%+v", res)
	}
	if res := p.do("grow 500000000"); res.Class != bezoar.OOM {
		t.Errorf("%v, %q (limits: %s)", res.Class, res.Detail, p.Limits())
	}
	if res := p.do("grow 1000000"); res.Class != bezoar.Done {
		t.Errorf("the next: %+v", res)
	}
}

// A child that answers before it has read its message is done with it, and gets
// no other: the rest of the first is in the way.
func TestHastyAnswer(t *testing.T) {
	p := start(t, config(t, "hasty"))
	body := strings.Repeat("x", pool.MaxBody)
	pids := map[string]bool{}
	for range 3 {
		res := p.do(body)
		if res.Class != bezoar.Done {
			t.Fatalf("%+v", res)
		}
		pids[res.Report.Reason] = true
	}
	if len(pids) != 3 {
		t.Errorf("%d children, want 3", len(pids))
	}
}

// A deadline is kept from outside, whatever the child thinks of it.
func TestDeadline(t *testing.T) {
	cfg := config(t, "normal")
	cfg.Child.Grace = 100 * time.Millisecond
	p := start(t, cfg)
	for _, body := range []string{"hang", "deaf", "finish"} {
		before := p.pid()
		res := p.Do(t.Context(), child.Job{Stdin: []byte(body), Timeout: 50 * time.Millisecond})
		if res.Class != bezoar.Timeout || !strings.Contains(res.Detail, "stopped after 50ms") {
			t.Errorf("%s: %v %q", body, res.Class, res.Detail)
		}
		if p.pid() == before {
			t.Errorf("%s: the child lives on", body)
		}
	}
	// Answers in time are never stopped afterwards.
	before := p.pid()
	for range 200 {
		if res := p.Do(t.Context(), child.Job{Stdin: []byte("echo"), Timeout: time.Minute}); res.Class != bezoar.Done {
			t.Fatalf("%+v", res)
		}
	}
	if p.pid() != before {
		t.Error("a child that answers in time was replaced")
	}
}

// A message that is longer than the pipe, for a child that does not read.
func TestDeadlineWhileWriting(t *testing.T) {
	p := start(t, config(t, "normal"))
	begun := make(chan int, 1)
	ended := make(chan child.Result, 1)
	go func() {
		ended <- p.Do(t.Context(), child.Job{
			Stdin: bytes.Repeat([]byte("x"), pool.MaxBody), Timeout: 200 * time.Millisecond,
			Started: func(pid int) {
				begun <- pid
				_ = syscall.Kill(pid, syscall.SIGSTOP)
			},
		})
	}()
	<-begun
	if res := <-ended; res.Class != bezoar.Timeout {
		t.Errorf("%+v", res)
	}
}

// The end of the call's context is a drain: an answer within the grace counts.
func TestDrain(t *testing.T) {
	p := start(t, config(t, "normal"))
	for _, c := range []struct {
		body  string
		class bezoar.Class
	}{{"finish", bezoar.Done}, {"hang", bezoar.Interrupted}, {"deaf", bezoar.Interrupted}} {
		ctx, cancel := context.WithCancel(t.Context())
		heard := make(signalWriter, 1)
		if c.body == "hang" {
			heard.Write(nil)
		}
		ended := make(chan child.Result, 1)
		go func() { ended <- p.Do(ctx, child.Job{Stdin: []byte(c.body), Stderr: heard}) }()
		<-heard
		cancel()
		if res := <-ended; res.Class != c.class {
			t.Errorf("%s: %+v, want %v", c.body, res, c.class)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := p.Do(ctx, child.Job{}); res.Class != bezoar.Interrupted {
		t.Errorf("%+v", res)
	}
}

// signalWriter says that something was written.
type signalWriter chan struct{}

func (w signalWriter) Write(b []byte) (int, error) {
	select {
	case w <- struct{}{}:
	default:
	}
	return len(b), nil
}

// Run's end lets what runs end, and nothing more begins.
func TestRunEnds(t *testing.T) {
	p := start(t, config(t, "normal"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(signalWriter, 1)
	ended := make(chan child.Result, 1)
	go func() { ended <- p.Do(ctx, child.Job{Stdin: []byte("finish"), Stderr: heard}) }()
	<-heard
	stopped := make(chan error, 1)
	go func() { stopped <- p.stop() }()
	eventually(t, "no message begins", func() bool {
		return p.do("echo").Class == bezoar.Interrupted
	})
	select {
	case err := <-stopped:
		t.Fatalf("Run returned %v while a message ran", err)
	default:
	}
	cancel()
	if res := <-ended; res.Class != bezoar.Done {
		t.Errorf("%+v", res)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// stderr belongs to the message during which it was written.
func TestStderr(t *testing.T) {
	p := start(t, config(t, "normal"))
	do := func(id, body string) child.Result {
		return p.Do(t.Context(), child.Job{Stdin: []byte(body), Message: child.Message{ID: id}})
	}
	for i := range 300 {
		a, b := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
		if res := do(a, "afterthought"); res.Class != bezoar.Done {
			t.Fatalf("%+v", res)
		}
		// An afterthought may come while the next message runs already; the one
		// after that is safe from it.
		do("-", "echo")
		if res := do(b, "noise 3"); string(res.Stderr) != strings.Repeat("noise for "+b+"\n", 3) || res.Class != bezoar.Bug {
			t.Fatalf("%s: %v %q", b, res.Class, res.Stderr)
		}
	}
	res := do("big", "noise 100000")
	if len(res.Stderr) != child.DefaultTail || !bytes.HasSuffix(res.Stderr, []byte("noise for big\n")) {
		t.Errorf("%d bytes of stderr, want the last %d", len(res.Stderr), child.DefaultTail)
	}
	var also bytes.Buffer
	p.Do(t.Context(), child.Job{Stdin: []byte("noise 2"), Stderr: &also, Message: child.Message{ID: "x"}})
	if also.String() != "noise for x\nnoise for x\n" {
		t.Errorf("written to Job.Stderr: %q", &also)
	}
}

// Four at a time, and no answer goes to another's message.
func TestConcurrent(t *testing.T) {
	cfg := config(t, "normal")
	cfg.Size, cfg.Recycle = 4, 20
	p := start(t, cfg)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				id := fmt.Sprintf("%d-%d", g, i)
				body, class := "noise 1", bezoar.Bug
				if i%10 == 9 {
					body, class = "die 9", bezoar.Crash
				}
				res := p.Do(t.Context(), child.Job{Stdin: []byte(body), Message: child.Message{ID: id}})
				if res.Class != class || class == bezoar.Bug && string(res.Stderr) != "noise for "+id+"\n" {
					t.Errorf("%s: %+v", id, res)
				}
			}
		})
	}
	wg.Wait()
}

func TestRecycle(t *testing.T) {
	cfg := config(t, "normal")
	cfg.Recycle = 3
	p := start(t, cfg)
	var pids []int
	for range 9 {
		pids = append(pids, p.pid())
	}
	for i := range pids {
		if same := pids[i] == pids[i/3*3]; !same || i >= 3 && pids[i] == pids[i-3] {
			t.Fatalf("children %v, want a new one after every three", pids)
		}
	}
}

// A child that does not heed the end of its stdin is ended all the same.
func TestImpolite(t *testing.T) {
	cfg := config(t, "deaf")
	cfg.Recycle, cfg.Exit, cfg.Child.Grace = 1, 20*time.Millisecond, 20*time.Millisecond
	p := start(t, cfg)
	if a, b := p.pid(), p.pid(); a == b {
		t.Error("the child was not replaced")
	}
}

func TestGrowth(t *testing.T) {
	cfg := config(t, "normal")
	cfg.Growth = 32 << 20
	p := start(t, cfg)
	before := p.pid()
	if res := p.do("grow 1000000"); res.Report == nil || res.Report.Reason != fmt.Sprint(before) {
		t.Fatalf("%+v", res)
	}
	if p.pid() != before {
		t.Fatal("replaced for a megabyte")
	}
	p.do("grow 64000000")
	eventually(t, "the grown child is replaced", func() bool { return p.pid() != before })
}

// A limit of processor time is one message's, however long the child lives.
func TestCPU(t *testing.T) {
	cfg := config(t, "normal")
	cfg.Child.CPU = time.Second
	p := start(t, cfg)
	if res := p.do("echo"); res.Class != bezoar.Done {
		t.Fatalf("%+v", res)
	}
	if res := p.do("burn"); res.Class != bezoar.Timeout || !strings.Contains(res.Detail, "1s of processor time") {
		t.Errorf("%+v", res)
	}
}

// What a child leaves behind ends with it, in whatever session it is.
func TestEscapees(t *testing.T) {
	p := start(t, config(t, "normal"))
	length := fmt.Sprintf("987%d", time.Now().UnixNano()%1e9)
	if res := p.do("escape-die " + length); res.Class != bezoar.Crash {
		t.Fatalf("%+v", res)
	}
	if left := processes(t, length); len(left) > 0 {
		t.Errorf("alive after the message: %v", left)
	}
	if res := p.do("escape " + length); res.Class != bezoar.Done {
		t.Fatalf("%+v", res)
	}
	if left := processes(t, length); len(left) == 0 {
		t.Error("a helper that a living child started is gone")
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	if left := processes(t, length); len(left) > 0 {
		t.Errorf("alive after the child: %v", left)
	}
}

// slowStart is how long such a child takes before its hello.
const slowStart = 300 * time.Millisecond

func TestSlowStart(t *testing.T) {
	began := time.Now()
	p := start(t, config(t, "slow"))
	if res := p.do("echo"); res.Class != bezoar.Done || res.Elapsed > time.Since(began)-slowStart {
		t.Errorf("%+v, want the start not to count", res)
	}
}

// Commands that cannot take messages stop the pool, and no message is to blame.
func TestSpawnFailed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*pool.Config)
		want   string
		is     error
	}{
		{"no such command", func(c *pool.Config) { c.Child.Command = []string{"/nowhere/to/be/found"} }, "start /nowhere/to/be/found: ", fs.ErrNotExist},
		{"not in PATH", func(c *pool.Config) { c.Child.Command = []string{"bezoar-nowhere"} }, "start bezoar-nowhere: ", nil},
		{"no program", func(c *pool.Config) { c.Child.Command = []string{"/etc/passwd"} }, "start /etc/passwd: ", fs.ErrPermission},
		{"a launcher's", func(c *pool.Config) { c.Child.Command = []string{"env", "bezoar-nowhere"} }, "start env: there is no such command", nil},
		{"failed start", func(c *pool.Config) { c.Child.Env[0] = childMode + "=failed start" }, "ended before it said hello: exit code 78: there is no settings file", nil},
		{"mute", func(c *pool.Config) { c.Child.Env[0] = childMode + "=mute"; c.Start = 20 * time.Millisecond }, "no hello within 20ms", nil},
		{"foreign", func(c *pool.Config) { c.Child.Env[0] = childMode + "=foreign" }, "version 2 of the protocol, want 1", nil},
		{"once", func(c *pool.Config) { c.Child.Env[0] = childMode + "=once"; c.Recycle = 1 }, "ended before it said hello: exit code 1", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, "normal")
			cfg.Starts = 2
			c.change(&cfg)
			p := start(t, cfg)
			res := p.do("echo")
			if c.name == "once" {
				if res.Class != bezoar.Done {
					t.Errorf("the first: %+v", res)
				}
				res = p.do("echo")
			}
			var start *pool.StartError
			if res.Class != bezoar.SpawnFailed || !errors.As(res.Err, &start) || !strings.Contains(res.Detail, c.want) || c.is != nil && !errors.Is(res.Err, c.is) {
				t.Errorf("%+v, want %q", res, c.want)
			}
			if err := p.stop(); !errors.As(err, &start) {
				t.Errorf("Run: %v, want a StartError", err)
			}
		})
	}
}

// Children that die idly again and again do not stop the pool, and no message is
// blamed for what it was not there for.
func TestBriefLives(t *testing.T) {
	cfg := config(t, "brief")
	p := start(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		if res := p.Do(ctx, child.Job{Stdin: []byte("echo")}); res.Class != bezoar.Interrupted && res.Class != bezoar.Bug {
			t.Fatalf("%+v", res)
		}
	}
}

func TestConfig(t *testing.T) {
	_, err := pool.New(pool.Config{Size: -1, Start: -1, Exit: -1, Starts: -1, Child: child.Config{Timeout: -1}})
	for _, field := range []string{"child: ", "command", "timeout", "size", "start ", "exit", "starts"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v: does not name %s", err, field)
		}
	}
	p := start(t, config(t, "normal"))
	if p.Limits() == "" {
		t.Error("no limits")
	}
	p.do("echo") // Run has begun
	if err := p.Run(t.Context()); err == nil {
		t.Error("Run runs twice")
	}
}
