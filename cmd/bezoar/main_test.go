package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bezoar-dev/bezoar/internal/test/golden"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	testscript.Main(patient{m}, map[string]func(){"bezoar": main, "takeover": takeover})
}

// patient runs tests side by side.
type patient struct{ *testing.M }

func (m patient) Run() int {
	// Above all they wait for servers, and for what dies there.
	if err := pace.AtOnce(5); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.M.Run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Updating(),
		Setup: func(e *testscript.Env) error {
			e.Values[running{}] = map[string]*server{}
			// The race detector would wait a second at the end of every command.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("GOGC", "off") // of commands that end soon; servers have their own
			e.Setenv("GOMEMLIMIT", "256MiB")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "signal": sendSignal, "await": await, "fetch": fetch, "code": code, "capture": capture,
			"said": said, "plainuser": plainUser,
		},
		Condition: condition,
	})
}

// running is the key under which a script keeps its servers.
type running struct{}

// server is one bezoar in the background.
type server struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended and its output is read

	mu  sync.Mutex // guards log
	log strings.Builder
}

func (s *server) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// start runs "start NAME ARGS…": bezoar with ARGS in the background, until it
// says where it serves. LISTEN and BEZOAR_ADMIN are set from that.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME ARGS...")
	}
	path, err := exec.LookPath("bezoar")
	ts.Check(err)
	s := &server{cmd: exec.Command(path, args[1:]...), exited: make(chan struct{})}
	s.cmd.Dir = ts.MkAbs(".")
	s.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "BEZOAR_ADMIN_TOKEN="+ts.Getenv("BEZOAR_ADMIN_TOKEN"))
	out, err := s.cmd.StderrPipe()
	ts.Check(err)
	s.cmd.Stdout = io.Discard
	ts.Check(s.cmd.Start())
	ts.Value(running{}).(map[string]*server)[args[0]] = s
	listen, admin := make(chan string, 1), make(chan string, 1)
	go s.read(out, listen, admin)
	ts.Defer(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(patience):
			_ = s.cmd.Process.Kill()
			<-s.exited
		}
		ts.Logf("[stderr of %s]\n%s", args[0], s.text())
	})
	for _, from := range []struct {
		name string
		addr chan string
	}{{"LISTEN", listen}, {"BEZOAR_ADMIN", admin}} {
		select {
		case addr := <-from.addr:
			ts.Setenv(from.name, addr)
		case <-s.exited:
			ts.Fatalf("%s ended before it served", args[0])
		case <-time.After(patience):
			ts.Fatalf("%s did not serve within %v", args[0], patience)
		}
	}
}

func (s *server) read(out io.Reader, listen, admin chan<- string) {
	for sc := bufio.NewScanner(out); sc.Scan(); {
		s.mu.Lock()
		s.log.WriteString(sc.Text() + "\n")
		s.mu.Unlock()
		if addr, ok := strings.CutPrefix(sc.Text(), "bezoar: serving on http://"); ok {
			listen <- addr
		}
		if addr, ok := strings.CutPrefix(sc.Text(), "bezoar: console and API on http://"); ok {
			admin <- strings.TrimSuffix(addr, "/")
		}
	}
	_ = s.cmd.Wait()
	close(s.exited)
}

// sendSignal runs "signal NAME TERM|HUP|KILL". After TERM and KILL it waits for
// the end, which TERM makes a clean one.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME TERM|HUP|KILL")
	}
	s := ts.Value(running{}).(map[string]*server)[args[0]]
	sig := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[args[1]]
	ts.Check(s.cmd.Process.Signal(sig))
	if sig == syscall.SIGHUP {
		return
	}
	select {
	case <-s.exited:
	case <-time.After(patience):
		ts.Fatalf("%s did not end within %v of SIG%s", args[0], patience, args[1])
	}
	if code := s.cmd.ProcessState.ExitCode(); sig == syscall.SIGTERM && code != 0 {
		ts.Fatalf("%s exited with code %d", args[0], code)
	}
}

// await runs "await TEXT CMD ARGS…" until its output contains TEXT.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await TEXT CMD ARGS...")
	}
	deadline := time.Now().Add(patience)
	beat := time.NewTicker(100 * time.Millisecond) // each try starts a process
	defer beat.Stop()
	for ; ; <-beat.C {
		cmd := exec.Command(args[1], args[2:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = append(os.Environ(), "BEZOAR_ADMIN="+ts.Getenv("BEZOAR_ADMIN"),
			"BEZOAR_ADMIN_TOKEN="+ts.Getenv("BEZOAR_ADMIN_TOKEN"), "GORACE=atexit_sleep_ms=0")
		out, _ := cmd.CombinedOutput()
		if strings.Contains(string(out), args[0]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q did not come within %v; the last output was:\n%s", args[0], patience, out)
		}
	}
}

// said runs "said NAME REGEX": it waits until the log of a server in the background
// matches.
func said(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: said NAME REGEX")
	}
	s, wanted := ts.Value(running{}).(map[string]*server)[args[0]], regexp.MustCompile("(?m)"+args[1])
	deadline := time.Now().Add(patience)
	beat := time.NewTicker(20 * time.Millisecond)
	defer beat.Stop()
	for ; !wanted.MatchString(s.text()); <-beat.C {
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not say %s within %v:\n%s", args[0], args[1], patience, s.text())
		}
	}
}

// plainUser runs "plainuser N CMD ARGS…" and wants exit code N. File modes and low
// ports hold for CMD also if root runs the test.
func plainUser(ts *testscript.TestScript, neg bool, args []string) {
	if os.Getuid() == 0 {
		args = slices.Insert(slices.Clone(args), 1, "setpriv", "--bounding-set=-dac_override,-dac_read_search,-net_bind_service")
	}
	code(ts, neg, args)
}

// condition reports what this machine can do.
func condition(name string) (bool, error) {
	switch name {
	case "ipv6": // on the loopback
		l, err := net.Listen("tcp", "[::1]:0")
		if err == nil {
			_ = l.Close()
		}
		return err == nil, nil
	case "lowports": // ports below 1024 are for root
		text, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start")
		return err == nil && strings.TrimSpace(string(text)) == "1024", nil
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// capture runs "capture VAR REGEX": VAR becomes what REGEX finds in the last
// command's stdout.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VAR REGEX")
	}
	found := regexp.MustCompile(args[1]).FindString(ts.ReadFile("stdout"))
	if found == "" {
		ts.Fatalf("nothing in stdout matches %s", args[1])
	}
	ts.Setenv(args[0], found)
}

// fetch runs "fetch STATUS METHOD TARGET [BODY]" against LISTEN.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: fetch STATUS METHOD TARGET [BODY]")
	}
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(args[3])
	}
	req, err := http.NewRequest(args[1], "http://"+ts.Getenv("LISTEN")+args[2], body)
	ts.Check(err)
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), fmt.Appendf(nil, "%s\n%v\n%s", resp.Status, resp.Header, text), 0o600))
	if fmt.Sprint(resp.StatusCode) != args[0] {
		ts.Fatalf("%s %s answered %s, want %s:\n%.300s", args[1], args[2], resp.Status, args[0], text)
	}
}

// code runs "code N CMD ARGS…" and wants exit code N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N CMD ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}
