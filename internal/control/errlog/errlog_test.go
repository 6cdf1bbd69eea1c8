package errlog_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/errlog"
)

// lines are what was logged, from level info, without the time.
func lines(buf *bytes.Buffer) (out []string) {
	for line := range strings.Lines(buf.String()) {
		out = append(out, strings.TrimSpace(line))
	}
	buf.Reset()
	return out
}

func setUp(level slog.Level) (*bytes.Buffer, *errlog.Limiter) {
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	return &buf, errlog.New(errlog.Config{Log: log, What: "upkeep"})
}

var errAway = errors.New("away")

func TestAnOutageTakesALineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buf, u := setUp(slog.LevelInfo)
		want := func(what string, want ...string) {
			t.Helper()
			if got := lines(buf); !slices.Equal(got, want) {
				t.Errorf("%s: logged\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		u.Passed()
		want("all is well")
		for range 300 { // seconds; something passes in each round nevertheless
			u.Failed("sweep", errAway)
			u.Failed("list", errAway)
			u.Passed()
			time.Sleep(time.Second)
		}
		want("five minutes",
			`level=ERROR msg="upkeep fails and will be tried again" doing=sweep err=away`,
			`level=ERROR msg="upkeep still fails" for=1m0s failures=121 doing=sweep err=away`,
			`level=ERROR msg="upkeep still fails" for=2m0s failures=241 doing=sweep err=away`,
			`level=ERROR msg="upkeep still fails" for=3m0s failures=361 doing=sweep err=away`,
			`level=ERROR msg="upkeep still fails" for=4m0s failures=481 doing=sweep err=away`,
		)
		for range 10 {
			u.Passed()
			time.Sleep(time.Second)
		}
		want("it is over", `level=INFO msg="upkeep works again" failed_for=4m59s failures=600`)

		// It comes and goes: within a minute of a line, nothing more is told.
		for range 4 {
			u.Failed("sweep", errAway)
			time.Sleep(3 * time.Second)
			u.Passed()
		}
		want("it flutters",
			`level=ERROR msg="upkeep fails and will be tried again" doing=sweep err=away`,
			`level=INFO msg="upkeep works again" failed_for=0s failures=1`,
		)
		time.Sleep(time.Minute)
		u.Failed("list", errAway)
		time.Sleep(3 * time.Second)
		u.Passed()
		want("it comes back",
			`level=ERROR msg="upkeep fails and will be tried again" doing=list err=away`,
			`level=INFO msg="upkeep works again" failed_for=0s failures=1`,
		)
	})
}

func TestEachFailureIsThereForWhoLooks(t *testing.T) {
	buf, u := setUp(slog.LevelDebug)
	u.Failed("sweep", errAway)
	u.Failed("list", errAway)
	want := []string{
		`level=ERROR msg="upkeep fails and will be tried again" doing=sweep err=away`,
		`level=DEBUG msg="upkeep failed" doing=list err=away`,
	}
	if got := lines(buf); !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
