package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type topCmd struct {
	remote
	By     string `enum:"cost,requests,refused,errors,bytes,units" default:"cost" placeholder:"WHAT" help:"Rank by cost (time on workers; the default), requests, refused, errors, bytes or units (of the guard)."`
	Window string `enum:"1m,10m" default:"1m" placeholder:"TIME" help:"Count the last 1m (the default) or 10m."`
	Limit  int    `short:"n" default:"20" placeholder:"N" help:"How many to list (default 20)."`
	watching
}

// Help is shown below the flags.
func (topCmd) Help() string {
	return "A number may be too high by the printed error, and is never too low. Routes identify callers by their client setting. " +
		"access_log.caller says how callers are shown: by default as hashes, because they may be keys."
}

// Run lists the callers that cause most.
func (c *topCmd) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > adminapi.MaxTop {
		return exitf(exitUsage, "-n is %d, want 1 to %d", c.Limit, adminapi.MaxTop)
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.ask(s, func() error {
		top, err := api.Top(s, adminapi.TopQuery{By: c.By, Window: c.Window, Limit: c.Limit})
		switch {
		case err != nil:
			return err
		case s.json:
			return c.json(s, top)
		}
		c.clear(s)
		writeTop(s.out, top)
		return nil
	})
}

func writeTop(p *printer, top adminapi.Top) {
	since := top.At.Sub(top.Since).Round(time.Second)
	p.printf("%s, the last %v: %s in all", p.paint(bold, "by "+clean(top.By)), since, topValue(top.By, top.Total))
	if top.Error > 0 {
		p.printf(", within %s", topValue(top.By, top.Error))
	}
	p.printf("\n")
	switch {
	case top.Names == "off":
		p.printf("callers are not listed: access_log.caller is off\n")
		return
	case len(top.Callers) == 0:
		p.printf("there are no callers to list: routes identify callers by their client setting\n")
		return
	}
	t := table{head: []string{">SHARE"}}
	columns := []string{top.By}
	for _, by := range adminapi.TopDimensions() {
		if by != top.By && (by != adminapi.ByUnits || someHave(top.Callers, by)) {
			columns = append(columns, by)
		}
	}
	for _, by := range columns {
		t.head = append(t.head, ">"+strings.ToUpper(by))
	}
	t.head = append(t.head, "CALLER")
	for _, c := range top.Callers {
		cells := []cell{plain(fmt.Sprintf("%.1f %%", 100*min(c.Share, 1)))}
		for _, by := range columns {
			v, known := c.Also[by]
			if by == top.By {
				v, known = c.Value, true
			}
			text := "–"
			if known {
				text = topValue(by, v)
			}
			cells = append(cells, plain(text))
		}
		t.add(append(cells, plain(c.Caller))...)
	}
	t.write(p, "")
}

func someHave(callers []adminapi.TopCaller, by string) bool {
	return slices.ContainsFunc(callers, func(c adminapi.TopCaller) bool { return c.Also[by] > 0 })
}

// topValue formats a number of the ranking.
func topValue(by string, v uint64) string {
	switch by {
	case adminapi.ByCost:
		return seconds(time.Duration(min(v, 1<<62)))
	case adminapi.ByBytes:
		return size(v)
	}
	return fmt.Sprint(v)
}

// seconds formats a sum of times with three digits.
func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return fmt.Sprintf("%.1fh", d.Hours())
}

// size writes a number of bytes.
func size(n uint64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1000, 0
	for v >= 999.95 && unit < 5 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGTPE"[unit])
}
