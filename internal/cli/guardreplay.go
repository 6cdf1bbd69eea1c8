package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/querylog"
)

type guardReplayCmd struct {
	guardFlags
	Logs     []string `arg:"" name:"log" help:"Logs with queries, also compressed; - is standard input. The format of each is detected."`
	Format   string   `placeholder:"NAME" help:"Format of the logs: lines (JSON, access logs) or postgres."`
	Kind     string   `placeholder:"KIND" help:"The kind of queries in access logs: elasticsearch, opensearch, sql or graphql (default elasticsearch)."`
	Against  string   `placeholder:"FILE" help:"Also judge by these limits, and show the differences."`
	Callers  int      `default:"20" help:"How many callers to list."`
	Shapes   int      `default:"10" help:"How many shapes to list: first those with most rejected queries, then those that took longest."`
	Examples int      `default:"5" help:"How many rejected queries to show, with their lines."`
}

func (guardReplayCmd) Help() string {
	return "The command judges every query of a log by the limits. It shows how many the limits would have rejected, by which rules, from which callers and of which shapes, and how long they took, if the log says so. Nothing is sent anywhere. " +
		"It reads lines as for guard check --batch, with caller, opaque_id, user, api_key, took_ms; access logs; PostgreSQL's log as text and JSON."
}

func (c *guardReplayCmd) Run(s *session) error {
	if err := twice(append([]string{c.Limits, c.Against, c.Hints}, c.Logs...)...); err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	limits, err := c.classed(s)
	if err != nil {
		return err
	}
	var against *guard.Guard
	if c.Against != "" {
		if against, err = c.guardOf(s, c.Against); err != nil {
			return fmt.Errorf("--against: %w", err)
		}
	}
	replayer, err := guard.NewReplayer(guard.ReplayConfig{Limits: limits, Against: against, Class: c.Class})
	if err != nil {
		return err
	}
	for _, log := range c.Logs {
		if err := c.read(s, log, o, replayer); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
	}
	r := replayer.Report()
	if r.Queries == 0 && r.Unread > 0 {
		err := exitf(exitUsage, "%s holds a query: line %d: %s", noneOf(r.Unread), r.Faults[0].Line, clean(r.Faults[0].Reason))
		return hinted(err, "bezoar guard replay --help says what lines look like")
	}
	r.Callers = r.Callers[:min(len(r.Callers), c.Callers)]
	r.Shapes = r.Shapes[:min(len(r.Shapes), c.Shapes)]
	r.Examples = r.Examples[:min(len(r.Examples), c.Examples)]
	return s.show(r, nil, func() { writeReplay(s.out, r, len(c.Logs) > 1) })
}

// options converts the flags to options for reading logs.
func (c *guardReplayCmd) options() (o querylog.Options, err error) {
	if c.Format != "" {
		if o.Format, err = querylog.ParseFormat(c.Format); err != nil {
			return o, exitf(exitUsage, "--format: %w", err)
		}
	}
	if c.Kind != "" {
		o.Kind, err = guard.ParseKind(strings.ToLower(c.Kind))
		if err == nil && o.Kind == guard.Regex {
			err = errors.New("access logs contain no regular expressions: use elasticsearch, opensearch, sql or graphql")
		}
		if err != nil {
			return o, exitf(exitUsage, "--kind: %w", err)
		}
	}
	for _, n := range []struct {
		flag string
		rows int
	}{{"callers", c.Callers}, {"shapes", c.Shapes}, {"examples", c.Examples}} {
		if n.rows < 0 {
			return o, exitf(exitUsage, "--%s is %d, want 0 or more", n.flag, n.rows)
		}
	}
	return o, nil
}

// read judges the queries of one log. Each log may have another format.
func (c *guardReplayCmd) read(s *session, log string, o querylog.Options, to *guard.Replayer) error {
	lines, err := openLines(s, []string{log})
	if err != nil {
		return err
	}
	in, done := lines.watched()
	defer done()
	err = querylog.Read(in, o, func(line int, rec *guard.Record, err error) error {
		if err != nil {
			to.Unread(log, line, err)
			return nil
		}
		to.Add(log, line, rec)
		return nil
	})
	if _, told := errors.AsType[*exitError](err); err == nil || told || s.Err() != nil {
		return err
	}
	return exitf(exitUsage, "%s: %w", clean(log), err)
}

func writeReplay(p *printer, r guard.Replay, many bool) {
	p.printf("%s\n", p.paint(bold, fmt.Sprintf("this would have rejected %d of %s", r.Rejected, count(r.Queries, "query", "queries"))))
	if r.Capped+r.Reported > 0 {
		p.printf("  and capped %d, reported %d\n", r.Capped, r.Reported)
	}
	if r.Took > 0 && r.Rejected > 0 {
		p.printf("  which took %s of the %s that all took\n", tookText(r.RejectedTook), tookText(r.Took))
	}
	if a := r.Against; a != nil {
		p.printf("  the other limits reject %d: %d more now, %d no longer\n", a.Rejected, a.Newly, a.NoLonger)
	}
	if r.Partial > 0 {
		p.printf("  %s incomplete in the log, and judged by the part that is there\n", count(int64(r.Partial), "is", "are"))
	}
	if r.Skipped > 0 {
		p.printf("  %s no query\n", count(int64(r.Skipped), "other request carries", "other requests carry"))
	}
	if r.Unread > 0 {
		p.printf("  %s no query\n", count(int64(r.Unread), "line holds", "lines hold"))
		for _, f := range r.Faults[:min(len(r.Faults), 3)] {
			where := fmt.Sprintf("line %d", f.Line)
			if many {
				where = fmt.Sprintf("%s:%d", clean(f.Log), f.Line)
			}
			p.printf("    %s: %s\n", where, cut(clean(f.Reason), 200))
		}
	}
	if r.Queries == 0 {
		p.printf("  no line has a query in a known format: --format sets the format\n")
	}
	replayTable(p, "by rule", r.Rules, r.Against != nil, false)
	replayTable(p, "by caller", r.Callers, r.Against != nil, true)
	shapeTable(p, r.Shapes, r.Took > 0)
	if len(r.Examples) > 0 {
		p.printf("\n  the first that it would reject\n")
	}
	for _, e := range r.Examples {
		where := fmt.Sprint(e.Line)
		if many {
			where = clean(e.Log) + ":" + where
		}
		p.printf("  %s %s  %s\n    %s\n", where, callerText(e.Caller), clean(e.Text), clean(e.Finding.String()))
	}
}

func callerText(name string) string {
	if name == "" {
		return "(anonymous)"
	}
	return clean(name)
}

// tookText formats a time in seconds with three digits.
func tookText(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(10 * time.Microsecond).String()
	}
}

// shapeTable lists shapes with the predicted cost of one query and the time that each took.
func shapeTable(p *printer, rows []guard.ReplayShape, took bool) {
	if len(rows) == 0 {
		return
	}
	p.printf("\n")
	t := table{head: []string{">rejected", ">queries", ">cost of one"}}
	if took {
		t.head = append(t.head, ">took", ">at most")
	}
	t.head = append(t.head, "predictor", "by shape: the first of it")
	for _, r := range rows {
		n := float64(max(r.Queries, 1))
		cells := []cell{plain(fmt.Sprint(r.Rejected)), plain(fmt.Sprint(r.Queries)), plain(guard.Number(r.Cost / n).String())}
		switch {
		case took && r.MaxTook > 0:
			cells = append(cells, plain(tookText(r.Took/n)), plain(tookText(r.MaxTook)))
		case took: // none of its queries has run
			cells = append(cells, plain("-"), plain("-"))
		}
		text := []rune(r.Text)
		if len(text) > 60 {
			text = append(text[:59], '…')
		}
		t.add(append(cells, plain(r.Predictor), plain(fmt.Sprintf("%d: %s", r.Line, string(text))))...)
	}
	t.write(p, "  ")
}

func replayTable(p *printer, title string, rows []guard.ReplayRow, diff, callers bool) {
	if len(rows) == 0 {
		return
	}
	p.printf("\n")
	t := table{head: []string{">rejected", ">capped", ">reported", ">queries"}}
	if diff {
		t.head = append(t.head, ">more", ">no longer")
	}
	if callers {
		t.head = append(t.head, ">cost")
	}
	t.head = append(t.head, title)
	for _, r := range rows {
		cells := []cell{plain(fmt.Sprint(r.Rejected)), plain(fmt.Sprint(r.Capped)), plain(fmt.Sprint(r.Reported)), plain(fmt.Sprint(r.Queries))}
		if diff {
			cells = append(cells, plain(fmt.Sprint(r.Newly)), plain(fmt.Sprint(r.NoLonger)))
		}
		if callers {
			cells = append(cells, plain(guard.Number(r.Cost).String()))
		}
		t.add(append(cells, plain(callerText(r.Name)))...)
	}
	t.write(p, "  ")
}
