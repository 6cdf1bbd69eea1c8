package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/cli/doctor"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

type doctorCmd struct {
	remote
	Config string `short:"c" placeholder:"FILE" help:"The settings file (default: bezoar.yaml here, if there is one)."`
}

// Help is shown below the flags.
func (*doctorCmd) Help() string {
	return "The command looks at the settings, the state folder, the store, ports, file and memory limits, disk, clock, secrets, certificates and kernel, " +
		"and asks the Bezoar that runs, if one does. It changes nothing. Run it where Bezoar runs, as its user. " +
		"It ends with exit code 8 if there is a fault; warnings alone end with 0."
}

// examined is what doctor prints with --json.
type examined struct {
	File     string           `json:"file,omitempty"`
	OK       bool             `json:"ok"` // there is no fault
	Faults   int              `json:"faults"`
	Warnings int              `json:"warnings"`
	Findings []doctor.Finding `json:"findings"` // faults first, then warnings
}

func (c *doctorCmd) Run(s *session) error {
	cfg, file, err := settingsOrQueues(c.Config, s.tokenFromEnvironment)
	out := examined{File: file}
	faults, invalid := errors.AsType[*config.Faults](err)
	switch {
	case invalid: // the other checks need valid settings
		out.Findings = settingsFindings(faults)
	case err != nil:
		return settingsError(err)
	default:
		if out.Findings, err = c.examine(s, cfg, file); err != nil {
			return err
		}
	}
	return out.report(s)
}

// examine checks everything that valid settings name.
func (c *doctorCmd) examine(s *session, cfg config.Config, file string) ([]doctor.Finding, error) {
	ask := doctor.Config{Settings: cfg, File: file, Version: readVersion().Version}
	c.Admin = cmp.Or(c.Admin, s.Getenv(adminVar), cfg.Admin)
	if c.Admin != "" {
		token := s.Getenv(tokenVar)
		if token == "" {
			token, _ = cfg.AdminToken() // doctor reports an error of it
		}
		api, err := adminapi.New(adminapi.Config{Address: c.Admin, Token: token, Actor: me(s.Getenv)})
		if err != nil {
			return nil, &exitError{code: exitUsage, err: err}
		}
		defer api.Close()
		ask.Admin = api
	}
	return doctor.Run(s, ask)
}

func settingsFindings(faults *config.Faults) []doctor.Finding {
	var out []doctor.Finding
	for _, f := range faults.List {
		fix := f.Fix
		f.Fix = ""
		out = append(out, doctor.Finding{Level: doctor.Fault, Check: "settings", Text: f.Error(), Fix: fix})
	}
	if faults.More > 0 {
		out = append(out, doctor.Finding{Level: doctor.Fault, Check: "settings", Text: fmt.Sprintf("there are %d more faults", faults.More)})
	}
	return out
}

// report prints the findings, one line each, below a heading for each level.
func (e *examined) report(s *session) error {
	for _, f := range e.Findings {
		switch f.Level {
		case doctor.Fault:
			e.Faults++
		case doctor.Warning:
			e.Warnings++
		case doctor.OK:
		}
	}
	e.OK = e.Faults == 0
	if err := s.show(e, nil, func() { e.write(s.out) }); err != nil {
		return err
	}
	if e.OK {
		return nil
	}
	return exitf(exitUnhealthy, "%s, %s", count(int64(e.Faults), "fault", "faults"), count(int64(e.Warnings), "warning", "warnings"))
}

func (e *examined) write(p *printer) {
	var last doctor.Level
	for _, f := range e.Findings {
		if f.Level != last {
			style := map[doctor.Level]string{doctor.Fault: red, doctor.Warning: yellow, doctor.OK: green}[f.Level]
			p.printf("%s\n", p.paint(style, string(f.Level)))
			last = f.Level
		}
		line := strings.ToValidUTF8(f.Text, "?")
		p.printf("  %s: %s%s\n", p.paint(bold, f.Check), clean(line), p.paint(dim, fixOf(f)))
	}
}

func fixOf(f doctor.Finding) string {
	if f.Fix == "" {
		return ""
	}
	return ". Fix: " + clean(f.Fix)
}

// settingsOrQueues reads the named file, or bezoar.yaml here. Without either it returns the settings that bezoar serve has
// without a file, and file is "".
func settingsOrQueues(named string, edit func(*config.Config)) (cfg config.Config, file string, err error) {
	file = cmp.Or(named, defaultFile)
	cfg, err = config.Load(file, edit)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		cfg, err = config.Queues(edit)
		return cfg, "", err
	}
	return cfg, file, err
}
