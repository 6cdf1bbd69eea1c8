//go:build linux

package worktest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever a worker or a server has started, and wherever that went: soon after
// kill -9 of Bezoar nothing of it is left, though nobody starts Bezoar again.
func TestNothingOutlivesAKilledBezoar(t *testing.T) {
	t.Parallel()
	// One child in the group, one in a session of its own, neither of which heeds SIGTERM.
	const script = `trap '' TERM; sh -c "sleep 600; : $LEFT" & setsid sh -c "sleep 600; : $LEFT" & wait`
	for name, start := range map[string]func(r *rig, script string) *crew{
		"work": func(r *rig, script string) *crew {
			r.fill([]string{filler("good", 0)}, 0)
			return r.work([]string{"--timeout", "10m"}, []string{"bash", "-c", script})
		},
		"run": func(r *rig, script string) *crew {
			c := &crew{rig: r, log: &text{more: make(chan struct{}, 1)}}
			c.cmd, c.ended = r.bezoar(c.log, c.log, "run", "-n", "1", "--listen", "127.0.0.1:0", "--admin", "", "--store", "memory:", "--", "bash", "-c", script)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			key := filepath.Base(filepath.Dir(r.dir)) + name
			c := start(r, strings.ReplaceAll(script, "$LEFT", key))
			left := func() (n int) {
				for _, p := range processes(r) {
					if strings.HasPrefix(p.command, "sh -c sleep 600; : "+key) {
						n++
					}
				}
				return n
			}
			r.until(time.Minute, "the children run", nil, func() bool { return left() == 2 })
			c.kill()
			r.until(time.Minute, "they have ended", nil, func() bool { return left() == 0 })
		})
	}
}
