package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

type configCmd struct {
	Check  configCheck  `cmd:"" help:"Check a settings file, and list every fault with line, column and fix."`
	Show   configShow   `cmd:"" help:"Show the effective settings: defaults filled in, secrets masked."`
	Schema configSchema `cmd:"" help:"Print a JSON Schema of the settings file, for editors."`

	Status   configStatus   `cmd:"" help:"Show which version each node runs, and why a node does not run the newest one."`
	History  configHistory  `cmd:"" help:"List the versions, newest first: who, when, from where."`
	Diff     configDiff     `cmd:"" help:"Compare two versions, or one with a file."`
	Apply    configApply    `cmd:"" help:"Apply a settings file as the newest version, on all nodes."`
	Rollback configRollback `cmd:"" help:"Restore an older version as the newest one."`
}

// Help is shown below the flags.
func (*configCheck) Help() string {
	return "The command also prints settings that contradict each other, the longest time that the retries of each route can take, and, for fleets with shards, " +
		"how likely it is that two callers share workers."
}

type configCheck struct {
	File string `arg:"" optional:"" default:"bezoar.yaml" help:"The settings file (default ${default})."`
}

// checkResult is what config check prints with --json.
type checkResult struct {
	File     string         `json:"file"`
	OK       bool           `json:"ok"`
	Faults   []config.Fault `json:"faults"`
	More     int            `json:"more"` // faults beyond those listed
	Warnings []string       `json:"warnings"`
	Retries  []worstCase    `json:"retries"` // what each route's can lead to
	Shards   []overlap      `json:"shards"`  // of the fleets that have some
}

func (c *configCheck) Run(s *session) error {
	r := checkResult{File: c.File, Faults: []config.Fault{}, Warnings: []string{}, Retries: []worstCase{}, Shards: []overlap{}}
	cfg, err := config.Load(c.File, s.tokenFromEnvironment)
	var faults *config.Faults
	switch {
	case errors.As(err, &faults):
		r.Faults, r.More = faults.List, faults.More
	case err != nil:
		return settingsError(err)
	default:
		if found := slices.Concat(namedFaults(c.File, &cfg), guardFileFaults(&cfg), sinkFaults(s, c.File, &cfg)); len(found) > 0 {
			r.Faults, err = found, &config.Faults{List: found}
			break
		}
		r.OK = true
		r.Warnings = append(r.Warnings, cfg.Warnings()...)
		r.Retries, r.Shards = worstCases(cfg), overlaps(cfg)
	}
	if s.json && !r.OK {
		err = exitf(exitFailure, "%s: %s", c.File, count(int64(len(r.Faults)+r.More), "fault", "faults"))
	}
	shown := s.show(r, nil, func() {
		for _, w := range r.Warnings {
			s.say("bezoar: warning: %s: %s", c.File, w)
		}
		if r.OK {
			s.out.printf("%s: ok\n", c.File)
			writeArithmetic(s.out, r.Retries, r.Shards)
		}
	})
	return cmp.Or(shown, settingsError(err))
}

type configShow struct {
	File string `arg:"" optional:"" default:"bezoar.yaml" help:"The settings file (default ${default}; without one, the defaults)."`
}

func (c *configShow) Run(s *session) error {
	cfg, err := config.Load(c.File, s.tokenFromEnvironment)
	if errors.Is(err, fs.ErrNotExist) && c.File == "bezoar.yaml" {
		s.say("bezoar: there is no bezoar.yaml here: these are the defaults")
		cfg, err = config.Default(), nil
	}
	return s.show(cfg, settingsError(err), func() { s.out.printf("%s", cfg.YAML()) })
}

type configSchema struct{}

func (*configSchema) Run(s *session) error {
	s.out.printf("%s", config.Schema())
	return nil
}
