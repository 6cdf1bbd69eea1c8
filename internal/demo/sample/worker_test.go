package sample

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const envChild = "BEZOAR_SAMPLE_TEST_CHILD"

// TestMain doubles as the worker process: pills need a process to kill.
func TestMain(m *testing.M) {
	if os.Getenv(envChild) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	ready := func(addr string) { fmt.Println(addr) }
	if err := New(Config{}).Serve(context.Background(), ready); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs a worker in this process and returns its base URL.
func serve(t *testing.T) string {
	t.Helper()
	w := New(Config{})
	addr := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Serve(ctx, func(a string) { addr <- a }) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	return "http://" + <-addr
}

func do(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(got))
}

func TestRoutes(t *testing.T) {
	base := serve(t)
	tests := []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/healthz", "", 200, `{"ok":true}`},
		{"GET", "/search?q=blue+lamp", "", 200, `"q":"blue lamp"`},
		{"GET", "/search?q=" + strings.Repeat("x", 65), "", 400, "64 bytes"},
		{"GET", "/search?filter=blue+lamp*", "", 200, `"count":`},
		{"GET", "/search?filter=" + strings.Repeat("x", 65), "", 400, "filter cannot be read"},
		{"GET", "/item/A-1", "", 200, `{"id":"A-1","price":`},
		{"GET", "/report", "", 200, `"report":"sales"`},
		{"GET", "/export?rows=3", "", 200, `{"bytes":3072,"rows":3}`},
		{"GET", "/export?rows=-1", "", 400, "rows must be"},
		{"POST", "/orders", `{"sku":"A-1","quantity":2}`, 200, `{"sku":"A-1","total":`},
		{"POST", "/orders", `{"sku":"A-1","quantity":2,"coupon":"WELCOME10"}`, 200, `"total":`},
		{"POST", "/orders", `{"sku":""}`, 400, "an order has"},
		{"GET", "/nothing", "", 404, "not found"},
	}
	for _, tt := range tests {
		status, body := do(t, tt.method, base+tt.target, tt.body)
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s = %d %s, want %d with %s", tt.method, tt.target, status, body, tt.status, tt.want)
		}
	}
}

// child starts a worker process; its stderr is complete once wait has returned.
func child(t *testing.T) (base string, stderr *bytes.Buffer, wait func() *os.ProcessState) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"=1")
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		t.Fatalf("the worker did not say where it listens: %v\n%s", err, stderr)
	}
	waited := false
	wait = func() *os.ProcessState {
		if !waited {
			waited = true
			_ = cmd.Wait() // its state says more
		}
		return cmd.ProcessState
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); wait() })
	return "http://" + addr, stderr, wait
}

func TestCrashPillsEndTheProcess(t *testing.T) {
	tests := []struct{ name, method, target, body string }{
		{"filter", "GET", "/search?filter=%00lamp", ""},
		{"coupon", "POST", "/orders", `{"sku":"A-1","quantity":1,"coupon":"GONE"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base, stderr, wait := child(t)
			req, err := http.NewRequestWithContext(t.Context(), tt.method, base+tt.target, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
				t.Fatalf("the pill was answered %d", resp.StatusCode)
			}
			if state := wait(); state.ExitCode() != 2 || !strings.Contains(stderr.String(), "nil pointer") {
				t.Errorf("ended with %v and\n%s\nwant exit status 2 on a nil pointer", state, stderr)
			}
		})
	}
}

func TestHangPillPinsTheHealthCheckToo(t *testing.T) {
	base, _, _ := child(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pill := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, "GET", base+"/search?filter="+url.QueryEscape(strings.Repeat("*a", 18)+"*b"), nil)
		if err == nil {
			_, err = http.DefaultClient.Do(req)
		}
		pill <- err
	}()
	// The health check passes until the pill has the loop, then never again.
	client := &http.Client{Timeout: 500 * time.Millisecond}
	defer client.CloseIdleConnections()
	for pinned := false; !pinned; {
		resp, err := client.Get(base + "/healthz")
		if pinned = err != nil; !pinned {
			resp.Body.Close()
		}
	}
	cancel()
	if err := <-pill; err == nil {
		t.Error("the hanging pill was answered")
	}
}

func TestConfigFromEnv(t *testing.T) {
	env := func(port, boot string) func(string) string {
		return func(k string) string { return map[string]string{EnvPort: port, EnvBoot: boot}[k] }
	}
	if c, err := ConfigFromEnv(env("8081", "300ms")); err != nil || c.Port != 8081 || c.Boot != 300*time.Millisecond {
		t.Errorf("= %+v, %v", c, err)
	}
	_, err := ConfigFromEnv(env("70000", "soon"))
	if err == nil || !strings.Contains(err.Error(), EnvPort) || !strings.Contains(err.Error(), EnvBoot) {
		t.Errorf("both faults should be named: %v", err)
	}
}

func BenchmarkSearch(b *testing.B) {
	shop := newCatalogue()
	for b.Loop() {
		shop.nearest("blue lampshade")
	}
}

func BenchmarkFilter(b *testing.B) {
	shop := newCatalogue()
	p, err := compile("blue*lamp*")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		shop.count(p)
	}
}
