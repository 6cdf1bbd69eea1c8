package cli

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard"
)

type guardReplayCmd struct {
	guardFlags
	Logs    []string `arg:"" name:"log" help:"Queries that were sent: lines as for guard check --batch, with caller, opaque_id, user or api_key; or an access log. Several are read one after the other, compressed ones too; - is standard input."`
	Against string `placeholder:"FILE" help:"Also judge by these limits, and say what is different."`
	Callers int    `default:"20" help:"How many callers to list."`
}

func (guardReplayCmd) Help() string {
	return "Judges every query of a log by the limits, and says how many they would have rejected, by which rules and from which callers. Nothing is sent anywhere."
}

func (c *guardReplayCmd) Run(s *session) error {
	if err := twice(append([]string{c.Limits, c.Against, c.Hints}, c.Logs...)...); err != nil {
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
	lines, err := openLines(s, c.Logs)
	if err != nil {
		return err
	}
	in, done := lines.watched()
	r, err := guard.ReplayLog(in, c.Class, limits, against)
	done()
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if r.Queries == 0 && r.Unread > 0 {
		return hinted(exitf(exitUsage, "none of %d lines holds a query", r.Unread), "bezoar guard replay --help says what lines look like")
	}
	r.Callers = r.Callers[:min(len(r.Callers), max(c.Callers, 0))]
	if s.json {
		return s.out.json(r)
	}
	writeReplay(s.out, r)
	return nil
}

func writeReplay(p *printer, r guard.Replay) {
	p.printf("%s\n", p.paint(bold, fmt.Sprintf("this would have rejected %d of %d queries", r.Rejected, r.Queries)))
	if r.Capped+r.Reported > 0 {
		p.printf("  and capped %d, reported %d\n", r.Capped, r.Reported)
	}
	if a := r.Against; a != nil {
		p.printf("  the other limits reject %d: %d more now, %d no longer\n", a.Rejected, a.Newly, a.NoLonger)
	}
	if r.Unread > 0 {
		p.printf("  %d lines hold no query\n", r.Unread)
	}
	replayTable(p, "by rule", r.Rules, r.Against != nil, false)
	replayTable(p, "by caller", r.Callers, r.Against != nil, true)
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
		name := r.Name
		if name == "" {
			name = "(anonymous)"
		}
		t.add(append(cells, plain(name))...)
	}
	t.write(p, "  ")
}
