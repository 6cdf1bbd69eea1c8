package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/text/encoding/unicode"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/demo"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// TestMain lets the scripts run the command line as a process of its own, with
// an engine that only tells what it was asked to do.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bezoar": func() {
			os.Exit(Main(context.Background(), Process{
				Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Getenv: os.Getenv, Exit: os.Exit, Engine: tellingEngine(),
			}))
		},
	})
}

func tellingEngine() Engine {
	return Engine{
		Serve: func(ctx context.Context, cfg config.Config, s Serving) error {
			if os.Getenv("WAIT_FOR_SIGNAL") == "" {
				fmt.Printf("%s", cfg.YAML())
				if s.File != "" {
					fmt.Println("follows", s.File)
				}
				if os.Getenv("SERVE") != "" {
					s.Ready("h:1", "h:2", "h:3")
				}
				s.Output("app-1", "stdout", "a line")
				s.Output("app-1", "stderr", "a complaint")
				return nil
			}
			fmt.Println("ready")
			leave := s.Leave
			for {
				select {
				case <-leave:
					if leave = nil; os.Getenv("WAIT_FOR_SIGNAL") == "delayed" {
						fmt.Println("leaving")
					}
				case <-ctx.Done():
					fmt.Println("drained")
					if os.Getenv("WAIT_FOR_SIGNAL") == "twice" {
						select {} // a drain that never ends
					}
					return ctx.Err()
				case <-s.Restart:
					fmt.Println("restarted")
				}
			}
		},
		Demo: func(_ context.Context, d demo.Config) error {
			fmt.Printf("%s %v %d %d json=%v %s\n", d.Pill, d.Length, d.Workers, d.Rate, d.JSON, d.Command[1])
			return nil
		},
		SampleWorker: func(context.Context) error { fmt.Println("a sample worker"); return nil },
	}
}

func TestScripts(t *testing.T) {
	p := testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Updating(),
		Setup: func(e *testscript.Env) error {
			e.Values[realKey{}] = new(*app.App)
			api := httptest.NewServer(newFakeAPI())
			e.Defer(api.Close)
			e.Setenv("BEZOAR_ADMIN", api.Listener.Addr().String())
			e.Setenv("FAKE_ADMIN", api.Listener.Addr().String())
			e.Setenv("BEZOAR_ADMIN_TOKEN", fakeToken)
			stranger := httptest.NewServer(http.NotFoundHandler())
			e.Defer(stranger.Close)
			e.Setenv("STRANGER", stranger.URL)
			// The race detector would wait a second at the end of every command.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			// There are hundreds of commands: a third of what one takes to start is collecting
			// what it has not left behind.
			e.Setenv("GOGC", "off")
			e.Setenv("GOMEMLIMIT", "256MiB")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": checkCode, "validjson": checkJSON, "jsonlines": checkJSONLines, "signals": sendSignals,
			"startbezoar": startBezoar, "deadletters": makeLetters, "firstletter": firstLetter, "firstverdict": firstVerdict, "workon": workOn, "capture": capture,
			"writeevents": writeEvents, "awaitparked": awaitParked,
			"gzip": zip, "zstd": zipZstd, "utf16": widen, "cut": cutFile, "query": sendQuery, "retry": retry,
		},
	}
	if pace.Watched { // what the others start is watched by its own packages' tests
		p.Dir, p.Files = "", atOnce()
	}
	testscript.Run(t, p)
}

// atOnce names the scripts of commands that start goroutines of their own, but for the
// batches of guard check, which TestABatchKeepsItsOrder runs in the test's process.
func atOnce() []string {
	var files []string
	for _, name := range []string{"run", "serve", "signals", "work"} {
		files = append(files, filepath.Join("testdata", "script", name+".txtar"))
	}
	return files
}

// checkCode runs "code N CMD ARGS…" and wants exit code N.
func checkCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N CMD ARGS...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// retry runs "retry REGEX CMD ARGS…" again until the output matches.
func retry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: retry REGEX CMD ARGS...")
	}
	wanted := regexp.MustCompile(args[0])
	for {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if wanted.MatchString(ts.ReadFile("stdout")) {
			return
		}
		<-time.After(50 * time.Millisecond) // the test's own deadline ends it
	}
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

// zipZstd runs "zstd FROM TO".
func zipZstd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: zstd FROM TO")
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), z.EncodeAll([]byte(ts.ReadFile(args[0])), nil), 0o600))
}

// widen runs "utf16 FROM TO".
func widen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: utf16 FROM TO")
	}
	out, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out), 0o600))
}

// zip runs "gzip FROM TO".
func zip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gzip FROM TO")
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := io.WriteString(z, ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(z.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// cutFile runs "cut FROM TO": the first half of it.
func cutFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FROM TO")
	}
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text[:len(text)/2]), 0o600))
}

// checkJSONLines runs "jsonlines N CMD ARGS…": CMD ends with code N, and what it prints is
// JSON documents, or nothing if it failed. An error is the last line of stderr, with the same code.
func checkJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	checkCode(ts, neg, args)
	documents := 0
	for d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout"))); ; documents++ {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			ts.Fatalf("stdout is not JSON: %v", err)
		}
	}
	if args[0] == "0" && documents == 0 {
		ts.Fatalf("it printed no JSON")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	var f failed
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &f); args[0] != "0" && (err != nil || f.Error == "" || fmt.Sprint(f.ExitCode) != args[0]) {
		ts.Fatalf("it failed and did not say why in JSON: %v", err)
	}
}

// checkJSON wants that a file holds one JSON document.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: validjson FILE")
	}
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &v); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
}
