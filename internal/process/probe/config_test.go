package probe

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

func TestParseWorker(t *testing.T) {
	for _, c := range []struct{ raw, want, fault string }{
		{raw: "http://127.0.0.1:9101", want: "127.0.0.1:9101"},
		{raw: "http://127.0.0.1:9101/", want: "127.0.0.1:9101"},
		{raw: "HTTP://Search.Internal:80", want: "search.internal:80"},
		{raw: "http://search.internal", want: "search.internal:80"},
		{raw: "http://[::1]:9101", want: "[::1]:9101"},
		{raw: "https://App.internal:8443/", want: "https://app.internal:8443"},
		{raw: "https://search.internal/base", want: "https://search.internal:443"},
		{raw: "http://h:1/base", want: "h:1"},
		{raw: "unix:/run/app.sock", want: "unix:/run/app.sock"},
		{raw: "unix:app.sock", fault: "absolute path"},
		{raw: "unix:/run/../app.sock", fault: "absolute path"},
		{raw: "h2c://h:1", fault: "scheme"},
		{raw: "127.0.0.1:9101", fault: "want http://host:port"},
		{raw: "search", fault: "want http://host:port"},
		{raw: "unix:///run/x", fault: "absolute path"},
		{raw: "ftp://h:1", fault: "scheme"},
		{raw: "http://h:0", fault: "port"},
		{raw: "http://h:70000", fault: "port"},
		{raw: "http://h:1/?q", fault: "without query"},
		{raw: "http://me:secret@h:1", fault: "user name"},
		{raw: "http://:9101", fault: "no host name"},
	} {
		got, err := ParseWorker(c.raw)
		if got != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("ParseWorker(%q) = %q, %v; want %q, %q", c.raw, got, err, c.want, c.fault)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestValidateJoinsEveryFault(t *testing.T) {
	err := Config{
		Workers: []string{"http://h:1", "http://H:1", "ftp://h"},
		Health:  Health{Path: "healthz", Interval: -1, Timeout: -time.Second},
	}.Validate()
	for _, want := range []string{"registry", "workers[1]: h:1 is listed twice", "workers[2]", "health.path", "health.interval", "health.timeout"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("Validate does not name %q: %v", want, err)
		}
	}
	if err := (Config{Registry: newRecorder(), Workers: []string{"http://h:1"}}).Validate(); err != nil {
		t.Errorf("a config with only what is required: %v", err)
	}
	if err := CheckPath("/a b"); err == nil {
		t.Error("a path with a space passes")
	}
}

func TestListenersAreThoseOfThePort(t *testing.T) {
	addr := freeAddr(t)
	if got := listeners(addr); got != nil {
		t.Errorf("listeners of a free port = %v", got)
	}
	inode := func() []uint64 {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		got := listeners(addr)
		if len(got) != 1 {
			t.Fatalf("listeners = %v, want one", got)
		}
		return got
	}
	a, b := inode(), inode()
	if !replaced(a, b) || replaced(a, a) || replaced(nil, a) || replaced(a, nil) || replaced(a, append(b, a...)) {
		t.Errorf("replaced is wrong about %v and %v", a, b)
	}
	for _, other := range []string{"10.0.0.1:80", "example.com:80", "127.0.0.1", "127.0.0.1:x"} {
		if got := listeners(other); got != nil {
			t.Errorf("listeners(%q) = %v, want nothing known", other, got)
		}
	}
}

func FuzzReadListeners(f *testing.F) {
	f.Add("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0\n")
	f.Add("x\n")
	f.Fuzz(func(t *testing.T, table string) {
		inodes, err := readListeners(strings.NewReader(table), 8080)
		if err == nil && len(inodes) > strings.Count(table, "\n") {
			t.Errorf("%d inodes of %d lines", len(inodes), strings.Count(table, "\n"))
		}
	})
}
