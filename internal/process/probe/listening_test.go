package probe

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A worker that was never up is told of after a moment, with where somebody listens
// instead. Before, the log said nothing of it.
func TestAWorkerThatWasNeverUpIsToldOf(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close() // nobody is there
	for addr, want := range map[string]string{
		"127.0.0.1:" + port:    "on this port a process listens at " + ln.Addr().String() + " only",
		free.Addr().String():   "no process listens on this port",
		"no.such.invalid:9101": "no.such.invalid",
	} {
		var log logged
		keep(t, newRecorder(), func(c *Config) {
			c.Log, c.tellAfter = slog.New(slog.NewTextHandler(&log, nil)), time.Millisecond
		}, addr)
		tick := time.NewTicker(5 * time.Millisecond)
		for late := time.After(time.Minute); !log.has("worker is not up") || !log.has(want); {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s: told %q, want %q", addr, log.buf.String(), want)
			}
		}
		tick.Stop()
	}
}

// logged is a log that may be read while it is written.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) has(want string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.buf.String(), want)
}

func TestListeningOn(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Logf("%s: %v", addr, err) // no IPv6 here
			continue
		}
		want := netip.MustParseAddrPort(ln.Addr().String())
		want = netip.AddrPortFrom(want.Addr().Unmap(), want.Port())
		if found := ListeningOn(want.Port()); !slices.Contains(found, want) {
			t.Errorf("%s: found %v", want, found)
		}
		ln.Close()
	}
}
