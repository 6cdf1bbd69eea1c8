package supervise

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

// A worker that is not at its port is told of long before it counts as failed, with
// where it is instead. Before, nothing was said for all of the start timeout.
func TestAWorkerThatListensElsewhere(t *testing.T) {
	for _, c := range []struct{ name, role, addr, path, want string }{
		{"another port", "elsewhere", "127.0.0.1:0", "", "it listens at 127.0.0.1:"},
		{"another address", "elsewhere", "127.0.0.2:PORT", "", "and not at 127.0.0.1"},
		{"IPv6", "elsewhere", "[::1]:PORT", "/healthz", "it listens at [::1]:"},
		{"a path", "elsewhere", "DIR/a b", "", "it listens on the Unix socket DIR/a b, and on no port"},
		{"an abstract name", "elsewhere", "@DIR/x", "", "it listens on the Unix socket @DIR/x, and on no port"},
		{"nowhere", "mute", "", "", "it listens on no port"},
		{"not well", "elsewhere", "127.0.0.1:PORT", "/healthz", "its health check answered 404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "IPv6" {
				if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
					t.Skip("no IPv6 here")
				}
			}
			dir := t.TempDir()
			addr, want := strings.ReplaceAll(c.addr, "DIR", dir), strings.ReplaceAll(c.want, "DIR", dir)
			var log logged
			r := run(t, c.role, func(cfg *Config) {
				cfg.Log, cfg.Health.Path = slog.New(slog.NewTextHandler(&log, nil)), c.path
				cfg.tellAfter = 50 * time.Millisecond
				_, flag, _ := strings.Cut(cfg.Env[1], "=")
				if err := os.WriteFile(flag, []byte(addr), 0o600); err != nil {
					t.Error(err)
				}
			})
			until(t, "it is told", func() bool {
				return strings.Contains(log.String(), "worker is not ready yet") && strings.Contains(log.String(), want)
			})
			until(t, "it is shown", func() bool { return strings.Contains(r.Status()[0].LastError, want) })
		})
	}
}
