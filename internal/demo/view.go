package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

// progressEvery is how often a line of progress is written.
const progressEvery = 2 * time.Second

// watch writes lines of progress about one half until ctx ends.
func (c Config) watch(ctx context.Context, title string, tally *traffic.Tally, t *toll) error {
	began := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		n := tally.Counts()
		lost, _ := t.count()
		_, err := fmt.Fprintf(c.Err, "%s: %2.0f s, %s sent, %s lost, %d of %d good requests answered, %d wait\n",
			title, time.Since(began).Seconds(), plural(n.PillsSent, "pill"), plural(int64(lost), "worker"), n.GoodOK, n.GoodSent, n.Waiting())
		if err != nil {
			return err
		}
	}
}

// say writes one line where progress goes.
func (c Config) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, format+"\n", args...) // the report will fail as well
}
