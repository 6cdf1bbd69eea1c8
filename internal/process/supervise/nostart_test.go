package supervise

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var triesLogged = regexp.MustCompile(`msg="worker did not start" fleet=w worker=w-1 tries=(\d+) why="it ended before it was ready: exit code 0 \(a server has to stay in the foreground\)"`)

// A worker that fails in the same way again and again is logged ever more rarely.
func TestTheSameFailureToStartIsLoggedRarely(t *testing.T) {
	var log logged
	r := run(t, "", func(c *Config) {
		c.Command = []string{"true"}
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Backoff.Base, c.Backoff.Cap = time.Millisecond, time.Millisecond
	})
	var tries []string
	until(t, "the 32nd try is logged", func() bool {
		tries = nil
		for _, m := range triesLogged.FindAllStringSubmatch(log.String(), -1) {
			tries = append(tries, m[1])
		}
		return slices.Contains(tries, "32")
	})
	r.stop()
	if want := []string{"1", "2", "4", "8", "16", "32"}; !slices.Equal(tries[:len(want)], want) {
		t.Errorf("tries %v were logged, want %v", tries, want)
	}
}

func TestTheLastWordsAreNotBlank(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"", ""}, {"one\ntwo", "two"}, {"why\n  \n", "why"}, {"\n\n", ""}, {"  indented", "indented"},
	} {
		if got := cause(strings.Split(c.lines, "\n")); got != c.want {
			t.Errorf("the last words of %q are %q, want %q", c.lines, got, c.want)
		}
	}
}
