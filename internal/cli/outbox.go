package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb"
	"github.com/bezoar-dev/bezoar/outbox"
)

type outboxCmd struct {
	Init   outboxInit   `cmd:"" help:"Create the outbox's tables in a database, or print the SQL that does."`
	Status outboxStatus `cmd:"" help:"Show what waits in an outbox, and who delivers it."`
	Parked outboxParked `cmd:"" help:"List events that wait for a person."`
	Show   outboxShow   `cmd:"" help:"Show one event that is not delivered, with its payload and evidence."`
	Retry  outboxRetry  `cmd:"" help:"Send parked events again."`
	Skip   outboxSkip   `cmd:"" help:"Discard parked events, so that those behind them go on."`
	Edit   outboxEdit   `cmd:"" help:"Change a parked event, and send it again."`
	Slots  outboxSlots  `cmd:"" help:"Show what the replication slots of PostgreSQL hold back, and when that fills the disk."`
	Verify outboxVerify `cmd:"" help:"Check that no event of a key is missing or out of order."`
}

// Help is shown below the flags.
func (outboxCmd) Help() string {
	return "bezoar serve delivers the events of the outboxes that its settings name. These commands work on the database itself, with or without a running relay."
}

// databaseVar names the database without showing a password to every user of the machine.
const databaseVar = "BEZOAR_OUTBOX_DATABASE"

// outboxAt holds the flags that name an outbox.
type outboxAt struct {
	Outbox   string `short:"o" placeholder:"NAME" help:"The outbox, as the settings file calls it (default: the only one there)."`
	Config   string `short:"c" placeholder:"FILE" help:"The settings file (default bezoar.yaml)."`
	Database string `placeholder:"URL" help:"Instead of an outbox of the settings file: its database, postgres://…, mysql://… or sqlite:PATH (default $$BEZOAR_OUTBOX_DATABASE)."`
	Admin    string `placeholder:"ADDR" help:"The admin API whose audit log records retry, skip and edit (default $$BEZOAR_ADMIN, or as the settings file says)."`
	Schema   string `placeholder:"NAME" help:"With --database: the schema of its tables (default bezoar_outbox)."`
}

// where describes an outbox.
type where struct {
	name, database, schema string
	admin                  string // of the settings; "": none
}

// find returns the outbox that the flags name.
func (a *outboxAt) find(s *session) (where, error) {
	database := a.Database
	if database == "" && a.Outbox == "" && a.Config == "" {
		database = s.Getenv(databaseVar)
	}
	if database != "" {
		if a.Outbox != "" || a.Config != "" {
			return where{}, exitf(exitUsage, "--database names the outbox: give no --outbox and no --config with it")
		}
		w := where{name: unnamed, database: database, schema: a.Schema}
		w.schema = cmp.Or(w.schema, outboxdb.DefaultSchema)
		return w, nil
	}
	if a.Schema != "" {
		return where{}, exitf(exitUsage, "--schema goes with --database; the settings file has the schema of an outbox")
	}
	file := a.Config
	file = cmp.Or(file, defaultFile)
	cfg, err := config.Load(file, s.tokenFromEnvironment)
	if err != nil {
		return where{}, hinted(settingsError(err), "name the file with -c FILE, or the database with --database URL")
	}
	return a.chosen(s, file, &cfg)
}

// chosen returns the named outbox of a settings file, or its only one.
func (a *outboxAt) chosen(s *session, file string, cfg *config.Config) (where, error) {
	name, names := a.Outbox, slices.Sorted(maps.Keys(cfg.Outbox))
	switch {
	case len(names) == 0:
		return where{}, hinted(exitf(exitNotFound, "%s has no outbox", file), "name the database with --database URL")
	case name == "" && len(names) > 1:
		return where{}, hinted(exitf(exitUsage, "%s has %d outboxes", file, len(names)), "--outbox names one of %s", strings.Join(names, ", "))
	case name == "":
		name = names[0]
	}
	o, ok := cfg.Outbox[name]
	if !ok {
		return where{}, hinted(exitf(exitNotFound, "%s has no outbox %.60q", file, name), "there are %s", strings.Join(names, ", "))
	}
	w := where{name: name, database: o.Database, schema: o.Schema, admin: cfg.Admin}
	if o.DatabaseEnv != "" {
		if w.database = s.Getenv(o.DatabaseEnv); w.database == "" {
			return where{}, exitf(exitUsage, "outbox.%s.database_env: the environment has no %s", name, o.DatabaseEnv)
		}
	}
	return w, nil
}

// title names it in messages.
func (w where) title() string {
	if w.name == unnamed {
		return unnamed
	}
	return "outbox " + w.name
}

// unnamed is the name of an outbox that is given by a URL.
const unnamed = "outbox"

func (w where) kind() string { return outboxdb.Kind(w.database) }

// with opens the outbox while do runs.
func (a *outboxAt) with(s *session, do func(w where, store outbox.Store) error) error {
	w, err := a.find(s)
	if err != nil {
		return err
	}
	store, err := outboxdb.Open(s, w.database, outboxdb.Config{Schema: w.schema})
	if err != nil {
		return outboxError(w, err)
	}
	err = outboxError(w, do(w, store))
	return errors.Join(err, store.Close())
}

// outboxError adds the exit code to an error of an outbox.
func outboxError(w where, err error) error {
	var exit *exitError
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.Is(err, outbox.ErrAbsent):
		return hinted(&exitError{code: exitNotFound, err: fmt.Errorf("the database has no outbox in schema %s", w.schema)}, "bezoar outbox init creates it")
	case errors.Is(err, outbox.ErrNotFound):
		return &exitError{code: exitNotFound, err: err}
	case errors.Is(err, outbox.ErrNotParked):
		return &exitError{code: exitPlanChanged, err: err}
	case errors.Is(err, outboxdb.ErrURL):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &exitError{code: exitFailure, err: fmt.Errorf("%s: %w", w.title(), err)}
}

// told records in the audit log of a running Bezoar what was done. The database is changed by then, so an error is only a
// warning.
func (a *outboxAt) told(s *session, w where, d adminapi.OutboxDeed) {
	at := remote{Admin: a.Admin}
	named := a.Admin != "" || s.Getenv("BEZOAR_ADMIN") != ""
	switch {
	case named:
	case w.admin == "":
		return
	default:
		at.Admin = w.admin
	}
	api, err := at.client(s)
	if err == nil {
		err = api.NoteOutboxDeed(s, w.name, d)
		api.Close()
	}
	var away *adminapi.ReachError
	if err != nil && (named || !errors.As(err, &away)) {
		s.say("bezoar: warning: the audit log does not record it: %v", err)
	}
}
