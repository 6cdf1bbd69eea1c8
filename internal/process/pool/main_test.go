package pool_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/pool"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

const childMode = "POOL_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(beChild(mode))
	}
	goleak.VerifyTestMain(m)
}

// message is what a child of these tests reads.
type message struct {
	Bezoar     int               `json:"bezoar"`
	ID         string            `json:"id"`
	Body       *string           `json:"body"`
	Base64     []byte            `json:"body_base64"`
	Receives   int               `json:"receives"`
	Attributes map[string]string `json:"attributes"`
	Group      string            `json:"group"`
	Deadline   int64             `json:"deadline_ms"`
}

// beChild takes messages whose bodies are orders.
func beChild(mode string) int {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	switch mode {
	case "mute":
		_, _ = io.Copy(io.Discard, in)
		return 0
	case "failed start":
		fmt.Fprintln(os.Stderr, "there is no settings file")
		return 78
	case "foreign":
		fmt.Println(`{"bezoar":2}`)
		_, _ = io.Copy(io.Discard, in)
		return 0
	case "hasty": // answers what it has not read to its end
		fmt.Println(`{"bezoar":1}`)
		for b := make([]byte, 100); ; {
			n, err := os.Stdin.Read(b)
			if err != nil {
				return 0
			}
			if strings.Contains(string(b[:n]), `"id":"m1"`) {
				answer(message{ID: "m1"}, fmt.Sprintf(`,"reason":"%d"`, os.Getpid()))
				<-time.After(300 * time.Millisecond)
			}
		}
	case "slow":
		<-time.After(slowStart)
	case "once": // starts one time only
		if err := os.Mkdir(os.Getenv("POOL_TEST_DIR")+"/started", 0o755); err != nil {
			return 1
		}
	case "deaf": // to the end of its stdin, and to SIGTERM
		signal.Ignore(syscall.SIGTERM)
		defer hang()
	}
	fmt.Println("a print before the hello")
	fmt.Println(`{"bezoar":1}`)
	if mode == "brief" {
		return 0
	}
	var o orders
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, "line:", err)
			return 1
		}
		if m.ID != "" {
			o.obey(m)
		}
	}
}

// hang is an endless select that the Go runtime does not take for a deadlock.
func hang() { <-time.After(time.Hour) }

type orders struct{ hoard [][]byte }

func answer(m message, more string) { fmt.Printf("{\"bezoar\":1,\"id\":%q%s}\n", m.ID, more) }

// obey does what the body says: words in a row, each an order.
func (o *orders) obey(m message) {
	body := string(m.Base64)
	if m.Body != nil {
		body = *m.Body
	}
	verb, arg, _ := strings.Cut(body, " ")
	number, _ := strconv.Atoi(arg)
	switch verb {
	case "echo": // everything that came, but for a body that is too long to be shown
		if len(body) > 1000 {
			body = strconv.Itoa(len(body))
		}
		m.Deadline = min(m.Deadline, 1)
		text, _ := json.Marshal(map[string]any{"body": body, "base64": m.Base64 != nil, "rest": []any{m.Receives, m.Attributes, m.Group, m.Deadline}})
		quoted, _ := json.Marshal(string(text))
		answer(m, `,"reason":`+string(quoted))
	case "pid":
		answer(m, fmt.Sprintf(`,"reason":"%d"`, os.Getpid()))
	case "say": // the rest is in the answer
		answer(m, arg)
	case "raw": // the rest is the answer, base64
		text, _ := base64.StdEncoding.DecodeString(arg)
		_, _ = os.Stdout.Write([]byte(strings.ReplaceAll(string(text), "ID", m.ID)))
	case "raw-exit":
		text, _ := base64.StdEncoding.DecodeString(arg)
		_, _ = os.Stdout.Write([]byte(strings.ReplaceAll(string(text), "ID", m.ID)))
		os.Exit(3)
	case "exit":
		fmt.Fprintln(os.Stderr, "leaving with", number)
		os.Exit(number)
	case "die":
		fmt.Fprintln(os.Stderr, "dying of", number)
		signal.Reset()
		_ = syscall.Kill(os.Getpid(), syscall.Signal(number))
		hang()
	case "hang":
		hang()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "not listening")
		hang()
	case "finish": // within the grace
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "waiting for SIGTERM")
		<-c
		answer(m, "")
	case "noise":
		for range number {
			fmt.Fprintln(os.Stderr, "noise for", m.ID)
		}
		answer(m, `,"class":"bug"`)
	case "afterthought":
		answer(m, "")
		fmt.Fprintln(os.Stderr, "afterthought of", m.ID)
	case "again": // once more, when nobody asks
		answer(m, "")
		<-time.After(20 * time.Millisecond)
		answer(m, "")
	case "grow":
		block := make([]byte, number)
		for i := range block {
			block[i] = byte(i)
		}
		o.hoard = append(o.hoard, block)
		answer(m, fmt.Sprintf(`,"reason":"%d"`, os.Getpid()))
	case "burn":
		for spun := 0; spun >= 0; {
			spun = (spun + 1) & 0xffff
		}
	case "escape", "escape-die": // leaves a process in a session of its own
		cmd := exec.Command("sleep", arg)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if err := cmd.Start(); err != nil {
			os.Exit(1)
		}
		if verb == "escape-die" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		answer(m, "")
	}
}

// test is a pool of a test.
type test struct {
	*pool.Pool
	t    testing.TB
	mark string
	stop func() error // and what Run returned
}

func config(t testing.TB, mode string) pool.Config {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return pool.Config{
		Child: child.Config{
			Command: []string{exe}, Env: []string{childMode + "=" + mode, "POOL_TEST_DIR=" + t.TempDir(), "GOMAXPROCS=2", "GORACE=atexit_sleep_ms=0"},
			Mark: filepath.Base(t.Name()) + "." + strconv.FormatInt(time.Now().UnixNano(), 36), Grace: 300 * time.Millisecond,
		},
		Size: 1, Exit: 5 * time.Second,
		Backoff: backoff.Config{Base: 2 * time.Millisecond, Cap: 20 * time.Millisecond},
	}
}

// start runs a pool until the test is over, and then looks for what is left.
func start(t testing.TB, cfg pool.Config) *test {
	t.Helper()
	p, err := pool.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	pt := &test{Pool: p, t: t, mark: cfg.Child.Mark}
	stopped := false
	pt.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Minute):
			t.Fatal("Run does not return")
			return nil
		}
	}
	t.Cleanup(func() {
		if err := pt.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if left := processes(t, child.EnvMark+"="+cfg.Child.Mark); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return pt
}

// do runs one message with the body.
func (p *test) do(body string) child.Result {
	p.t.Helper()
	return p.Do(p.t.Context(), child.Job{Stdin: []byte(body), Message: child.Message{ID: "m1", Receives: 1}})
}

// pid asks a child who it is.
func (p *test) pid() int {
	p.t.Helper()
	res := p.do("pid")
	if res.Report == nil {
		p.t.Fatalf("no answer: %+v", res)
	}
	pid, err := strconv.Atoi(res.Report.Reason)
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// processes returns those whose environment or command line has text.
func processes(t testing.TB, text string) (found []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("the process table cannot be read: %v", err)
	}
	for _, dir := range dirs {
		env, _ := os.ReadFile(dir + "/environ") // it may have ended
		args, _ := os.ReadFile(dir + "/cmdline")
		if dir != fmt.Sprintf("/proc/%d", os.Getpid()) && (strings.Contains(string(env), text) || strings.Contains(string(args), text)) {
			found = append(found, dir+" "+strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	return found
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
