package cli

import (
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

type guardLimitsCmd struct {
	remote
	Route string `arg:"" help:"The route, as verdicts name it: /search/*."`
	Set   string `placeholder:"FILE" help:"Replace the limits with those of this file; - for stdin."`
	Note  string `placeholder:"TEXT" help:"Note for the history: what changes and why."`
	Base  *int64 `placeholder:"N" help:"The version of the settings that you edited. If there is a newer one, nothing changes (exit code 5)."`
}

// Help is shown below the flags.
func (*guardLimitsCmd) Help() string {
	return "Example: bezoar guard limits '/search/*' > limits.yaml; edit it; bezoar guard limits '/search/*' --set limits.yaml. " +
		"Limits are part of the settings: --set creates a new version of the settings, which all nodes follow, and which config diff, history and " +
		"rollback include. If several routes use the same file of limits, it changes for all of them. Invalid limits change nothing."
}

// Run shows the limits of a route's guard, or changes them.
func (c *guardLimitsCmd) Run(s *session, api *adminapi.Client) error {
	switch {
	case c.Set == "" && (c.Note != "" || c.Base != nil):
		return exitf(exitUsage, "--note and --base need --set FILE")
	case c.Base != nil && *c.Base < 0:
		return exitf(exitUsage, "--base %d: versions are numbered from 1", *c.Base)
	}
	if c.Set != "" {
		text, err := c.read(s)
		if err != nil {
			return err
		}
		done, err := api.PutGuardLimits(s, c.Route, adminapi.PutGuardLimits{Text: text, Note: c.Note, Base: c.Base})
		if err != nil {
			return invalidThere(err, limitsText, c.Set)
		}
		return s.changed(done)
	}
	l, err := api.GuardLimits(s, c.Route)
	return s.show(l, err, func() { reportLimits(s, l) })
}

func reportLimits(s *session, l adminapi.GuardLimits) {
	where := "written into the settings"
	switch {
	case l.File != "":
		where = "the file " + clean(l.File)
	case len(l.Text) == 0:
		where = "the defaults: the route sets none (rules or limits of its guard would)"
	}
	s.say("version %d of the settings, %s%s", l.Version, where, sharedBy(l))
	s.out.printf("%s", cleanLines(string(l.Text)))
	if n := len(l.Text); n > 0 && l.Text[n-1] != '\n' {
		s.out.printf("\n")
	}
}

// read reads the new limits.
func (c *guardLimitsCmd) read(s *session) ([]byte, error) {
	text, more, err := readWhole(s, c.Set, live.MaxText)
	if err == nil && more {
		err = exitf(exitUsage, "%s has more than %d bytes", clean(c.Set), live.MaxText)
	}
	return text, err
}

// sharedBy names the other routes that have the same limits.
func sharedBy(l adminapi.GuardLimits) string {
	var others []string
	for _, r := range l.Routes {
		if r != l.Route {
			others = append(others, clean(r))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf(", shared by %s", strings.Join(others, ", "))
}
