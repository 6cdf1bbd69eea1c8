package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

type configHistory struct {
	remote
	Limit int `default:"20" placeholder:"N" help:"At most this many, up to 101 (default ${default})."`
}

func (c *configHistory) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > live.MaxVersions {
		return exitf(exitUsage, "--limit is %d, want 1 to %d", c.Limit, live.MaxVersions)
	}
	versions, err := api.Versions(s, c.Limit)
	return s.list(adminapi.Versions{Versions: versions}, len(versions), err, listing{
		head: []string{">VERSION", "WHEN", "FROM", "BY", "SUM", "NOTE"},
		row: func(now time.Time, i int) []cell {
			v := versions[i]
			return []cell{number(v.Number), plain(clock(now, v.At)), plain(v.Source), plain(v.By), plain(v.Sum[:min(len(v.Sum), 12)]), plain(v.Note)}
		},
	})
}

type configDiff struct {
	remote
	A    int64  `arg:"" optional:"" help:"The first version (default: the one before the second)."`
	B    int64  `arg:"" optional:"" help:"The second version (default: the one that runs)."`
	File string `placeholder:"FILE" help:"Compare the version that runs, or A, with this file, - for stdin."`
}

func (c *configDiff) Run(s *session, api *adminapi.Client) error {
	if c.A < 0 || c.B < 0 {
		return exitf(exitUsage, "versions are numbered from 1")
	}
	if c.File != "" && c.B != 0 {
		return exitf(exitUsage, "--file takes the place of the second version: give one version with it")
	}
	var d adminapi.Diff
	var err error
	if c.File != "" {
		d, err = c.withFile(s, api)
	} else {
		d, err = api.Diff(s, c.A, c.B)
	}
	return s.show(d, err, func() {
		if d.Text == "" {
			s.say("there is no difference")
		}
		writeDiff(s.out, d.Text)
	})
}

// withFile compares a version of the API with a file.
func (c *configDiff) withFile(s *session, api *adminapi.Client) (adminapi.Diff, error) {
	text, err := readSettings(s, c.File)
	if err != nil {
		return adminapi.Diff{}, err
	}
	return api.Compare(s, adminapi.Compare{From: c.A, Name: c.File, Text: text})
}

type configApply struct {
	remote
	File string `arg:"" help:"The settings, - for stdin."`
	Note string `placeholder:"TEXT" help:"Note for the history: what changes and why."`
	Base *int64 `placeholder:"N" help:"The version that you edited. If there is a newer one, nothing changes (exit code 5)."`
	Dry  bool   `name:"dry-run" help:"Change nothing. The server checks the file, and the command shows what would change. Exit codes are the same."`
}

// Help is shown below the flags.
func (*configApply) Help() string {
	return "All nodes of the store follow. The server checks the text first; an invalid text changes nothing. The nodes' own files stay " +
		"as they are, and apply again when they change."
}

func (c *configApply) Run(s *session, api *adminapi.Client) error {
	if c.Base != nil && *c.Base < 0 {
		return exitf(exitUsage, "--base %d: versions are numbered from 1", *c.Base)
	}
	text, err := readSettings(s, c.File)
	if err != nil {
		return err
	}
	in := adminapi.PutSettings{Text: text, Note: c.Note, Base: c.Base}
	if c.Dry {
		return c.try(s, api, in)
	}
	done, err := api.PutSettings(s, in)
	if err != nil {
		return invalidThere(err, settingsText, c.File)
	}
	return s.changed(done)
}

// try shows what the settings would change.
func (c *configApply) try(s *session, api *adminapi.Client, in adminapi.PutSettings) error {
	would, err := api.TrySettings(s, in)
	return s.show(would, invalidThere(err, settingsText, c.File), func() {
		writeDiff(s.out, would.Diff)
		if len(would.NextStart) > 0 {
			s.say("bezoar: warning: these would change when Bezoar starts again: %s", clean(fmt.Sprint(would.NextStart)))
		}
		if would.New {
			s.say("valid; this would follow version %d", would.Before)
		} else {
			s.say("version %d has that text already", would.Before)
		}
	})
}

type configRollback struct {
	remote
	To int64 `arg:"" optional:"" name:"n" help:"The version to restore (default: the one before the running version)."`
}

func (c *configRollback) Run(s *session, api *adminapi.Client) error {
	if c.To < 0 {
		return exitf(exitUsage, "version %d: they are numbered from 1", c.To)
	}
	done, err := api.Rollback(s, c.To)
	if err != nil {
		return invalidThere(err, settingsText, "")
	}
	return s.changed(done)
}

// changed prints the result of a change of the settings.
func (s *session) changed(done adminapi.Changed) error {
	v := done.Version
	if len(done.NextStart) > 0 {
		s.say("bezoar: warning: these change when Bezoar starts again: %s", clean(fmt.Sprint(done.NextStart)))
	}
	var failed error
	if done.Error != "" {
		failed = hinted(exitf(exitPartly, "version %d is stored, but does not run on the node that was asked: %s", v.Number, cleanLines(done.Error)),
			"bezoar config status says what runs where, bezoar config rollback %d goes back", done.Before)
	}
	switch {
	case s.json:
		return errors.Join(s.out.json(done), failed)
	case failed != nil:
		return failed
	case !done.New:
		s.out.printf("version %d has that text already\n", v.Number)
		return nil
	}
	s.out.printf("version %d runs\n", v.Number)
	if v.Note != "" && v.Source == live.FromRollback {
		s.say("it is %s", clean(v.Note))
	}
	return nil
}

// These constants name the texts that may be invalid.
const (
	settingsText = "settings"
	limitsText   = "limits"
)

// invalidThere lists the faults that the server found in settings or limits, at their places in file.
func invalidThere(err error, what, file string) error {
	var p *adminapi.Problem
	if !errors.As(err, &p) || len(p.Faults) == 0 {
		return err
	}
	faults := &config.Faults{More: p.More}
	for _, f := range p.Faults {
		if file != "" && file != "-" && (f.File == settingsText || f.File == limitsText) {
			f.File = file // a file that the settings name may also be at fault
		}
		faults.List = append(faults.List, f)
	}
	code := exitFailure
	if what == limitsText {
		code = exitUsage // the same code as in guard check
	}
	return &exitError{code: code, err: fmt.Errorf("the %s are invalid, nothing has changed\n%w", what, faults)}
}

func readSettings(s *session, file string) ([]byte, error) {
	in, err := s.input(file)
	if err != nil {
		return nil, settingsError(fmt.Errorf("read settings: %w", err))
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, live.MaxText+1))
	if err != nil {
		return nil, settingsError(fmt.Errorf("read settings: %w", err))
	}
	if len(text) > live.MaxText {
		return nil, exitf(exitUsage, "%s has more than %d bytes", file, live.MaxText)
	}
	return text, nil
}

// writeDiff colours added and removed lines.
func writeDiff(p *printer, text string) {
	styles := map[byte]string{'+': green, '-': red, '@': cyan}
	for l := range strings.Lines(text) {
		p.printf("%s\n", p.paint(styles[l[0]], clean(strings.TrimSuffix(l, "\n"))))
	}
}
