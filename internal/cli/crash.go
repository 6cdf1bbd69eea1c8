package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
)

type crashCmd struct {
	Files   []string `arg:"" name:"file" help:"Files with the output of failed programs; - is standard input."`
	Explain bool     `help:"Explain step by step how the answer was found; with --json on stderr."`
	Root    string   `placeholder:"DIR" help:"The project's folder: absolute paths elsewhere are not your own code."`
	Own     []string `placeholder:"PATTERN" help:"Frames that are your own code: folders, files, or the beginning of a module or function."`
	Library []string `placeholder:"PATTERN" help:"Frames that are not your own code, as patterns like those of the flag above."`
}

func (crashCmd) Help() string {
	return "The same bug has the same group, even with other ids, paths, versions and log formats. " +
		"Several files are listed by group. --json prints one line per file. " +
		"Exit code 1: a file could not be read or shows no failure. Exit code 3: a file was not found. All other files are read in either case."
}

type crashRead struct {
	file   string
	report crash.Report
}

type crashLine struct {
	File        string        `json:"file"`
	Class       bezoar.Class  `json:"class"`
	Type        string        `json:"type"`
	Frame       crash.Frame   `json:"frame"`
	Reason      string        `json:"reason"`
	Fingerprint string        `json:"fingerprint"`
	Group       string        `json:"group"`
	Quality     crash.Quality `json:"quality"`
}

func (c *crashCmd) Run(s *session) error {
	parser, err := crash.New(crash.Config{Root: c.Root, Own: c.Own, Library: c.Library})
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	var reads []crashRead
	var failed []error
	for _, file := range c.Files {
		r, err := readCrash(s, parser, file)
		if err != nil {
			failed = append(failed, err)
			if len(c.Files) > 1 {
				s.complain(err, s.json)
			}
			continue
		}
		reads = append(reads, crashRead{file, r})
		if s.json {
			if err := c.writeLine(s, file, r); err != nil {
				return err
			}
		}
	}
	if !s.json {
		c.write(s.out, reads)
	}
	return crashFailure(failed, len(c.Files))
}

// crashFailure returns the error for a run in which these files failed.
func crashFailure(failed []error, of int) error {
	if len(failed) == 0 {
		return nil
	}
	code := exitNotFound
	for _, err := range failed {
		if !errors.Is(err, fs.ErrNotExist) {
			code = exitFailure
		}
	}
	if of == 1 {
		return &exitError{code: code, err: failed[0]}
	}
	return exitf(code, "%d of %d files could not be read", len(failed), of)
}

// readCrash reads one file. Its errors name the file once.
func readCrash(s *session, p *crash.Parser, file string) (crash.Report, error) {
	in, err := s.input(file)
	if err != nil {
		return crash.Report{}, err
	}
	defer in.Close()
	r, err := p.Parse(readerUntil{s, in})
	if err != nil {
		return r, fmt.Errorf("%s: %w", clean(file), err)
	}
	return r, nil
}

// readerUntil stops reading when the command is interrupted.
type readerUntil struct {
	s *session
	r io.Reader
}

func (r readerUntil) Read(b []byte) (int, error) {
	if err := r.s.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

func (c *crashCmd) writeLine(s *session, file string, r crash.Report) error {
	if c.Explain {
		for _, step := range r.Why {
			fmt.Fprintf(s.Stderr, "%s: %s\n", clean(file), clean(step))
		}
	}
	e := json.NewEncoder(s.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(crashLine{file, r.Class, r.Type, r.Frame, r.Reason, r.Fingerprint, r.Group, r.Quality})
}

// write prints one file in full, or several grouped by failure.
func (c *crashCmd) write(p *printer, reads []crashRead) {
	var order []string
	members := map[string][]crashRead{}
	for _, r := range reads {
		g := r.report.Group
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], r)
	}
	for i, g := range order {
		if i > 0 {
			p.printf("\n")
		}
		c.writeGroup(p, members[g], len(c.Files) > 1)
	}
}

func (c *crashCmd) writeGroup(p *printer, reads []crashRead, counted bool) {
	r := reads[0].report
	title := p.paint(crashStyle(r.Class), r.Class.String()) + "  " + p.paint(bold, clean(crashTitle(r)))
	if counted {
		title = p.paint(bold, fmt.Sprintf("%d ×", len(reads))) + "  " + title
	}
	p.printf("%s\n", title)
	row := func(name, value string) {
		if value != "" {
			p.printf("  %s %s\n", p.paint(dim, fmt.Sprintf("%-11s", name)), clean(value))
		}
	}
	if r.Frame != (crash.Frame{}) {
		row("at", r.Frame.String())
	}
	row("reason", r.Reason)
	row("quality", crashQuality(r.Quality))
	row("group", r.Group)
	if len(reads) == 1 {
		row("fingerprint", r.Fingerprint)
	}
	for _, read := range reads {
		if counted {
			row("file", read.file)
		}
		if c.Explain {
			for _, step := range read.report.Why {
				p.printf("    %s\n", p.paint(dim, "· "+clean(step)))
			}
		}
	}
}

func crashTitle(r crash.Report) string {
	if r.Type != "" {
		return r.Type
	}
	return cut(r.Reason, 60)
}

func crashQuality(q crash.Quality) string {
	what := map[crash.Quality]string{
		crash.Own: "a frame of your own code", crash.Library: "a frame of a library, or an incomplete trace",
		crash.Message: "words only", crash.Exit: "only how it ended",
	}[q]
	if n := crash.Votes(q); n > 0 {
		return fmt.Sprintf("%s, %s: counts after %d alike", q, what, n)
	}
	return fmt.Sprintf("%s, %s: never counts by itself", q, strings.TrimSpace(what))
}

func crashStyle(c bezoar.Class) string {
	switch c {
	case bezoar.Crash, bezoar.OOM, bezoar.Timeout, bezoar.Bug:
		return red
	case bezoar.Transient, bezoar.Throttled, bezoar.Outage:
		return yellow
	case bezoar.Done, bezoar.Invalid, bezoar.Interrupted, bezoar.SpawnFailed:
	}
	return magenta
}
