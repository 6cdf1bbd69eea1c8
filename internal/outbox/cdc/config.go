package cdc

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// defaultHeartbeat is the default interval between heartbeats.
const defaultHeartbeat = 10 * time.Second

// Config selects a replication slot of a database.
type Config struct {
	URL         string // postgres://user:password@host:port/database?…; must not name a pooler
	Slot        string // 1 to 63 characters of a-z, 0-9 and _
	Publication string // 1 to 63 characters of a-z, 0-9 and _
	// Heartbeat is the interval at which the reader writes a message into the WAL. The
	// message lets the slot of an idle database advance while other databases are busy, and
	// checks that changes arrive. 0: 10 s.
	Heartbeat time.Duration
	Log       *slog.Logger // nil discards

	binary bool // request values in PostgreSQL's binary format, which is cheaper
}

// String returns the configuration without the password.
func (c Config) String() string {
	return fmt.Sprintf("{URL:%s Slot:%s Publication:%s Heartbeat:%v}", redact.Text(c.URL, redact.Hidden), c.Slot, c.Publication, c.Heartbeat)
}

// LogValue returns the configuration without the password.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	var errs faults.List
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		errs = append(errs, errors.New("URL: want postgres://user:password@host:port/database, the password percent-encoded"))
	} else if _, err := pgx.ParseConfig(c.URL); err != nil {
		errs = append(errs, fmt.Errorf("URL: %w", err)) // pgx has removed the password
	}
	for _, f := range []struct{ name, value string }{{"Slot", c.Slot}, {"Publication", c.Publication}} {
		errs.If(!validName(f.value), "%s: %.80q must be 1 to 63 characters of a-z, 0-9 and _", f.name, f.value)
	}
	errs.If(c.Heartbeat < 0, "Heartbeat: %v is negative", c.Heartbeat)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Heartbeat = cmp.Or(c.Heartbeat, defaultHeartbeat)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

func validName(s string) bool { return regexp.MustCompile(`^[a-z_0-9]{1,63}$`).MatchString(s) }

// connectTimeout limits one connection attempt if the URL sets no timeout.
const connectTimeout = 5 * time.Second

// settings parses the URL. With replication set, the connection uses the replication
// protocol and a fixed output format, whatever the database's settings are.
func (c Config) settings(replication bool) (*pgx.ConnConfig, error) {
	s, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return nil, err
	}
	s.ConnectTimeout = cmp.Or(s.ConnectTimeout, connectTimeout)
	if s.RuntimeParams["application_name"] == "" {
		s.RuntimeParams["application_name"] = "bezoar cdc " + c.Slot
	}
	if len(s.Fallbacks) > 0 && s.ValidateConnect == nil {
		// If the URL names several servers, use one that accepts writes.
		s.ValidateConnect = writable
	}
	for name := range s.RuntimeParams {
		if strings.HasPrefix(name, "pool_") { // a pgxpool parameter, unknown to the server
			delete(s.RuntimeParams, name)
		}
	}
	s.RuntimeParams["client_encoding"] = "UTF8"
	s.RuntimeParams["datestyle"] = "ISO"
	s.RuntimeParams["intervalstyle"] = "iso_8601"
	s.RuntimeParams["timezone"] = "UTC"
	s.RuntimeParams["bytea_output"] = "hex"
	s.RuntimeParams["extra_float_digits"] = "3"
	if replication {
		s.RuntimeParams["replication"] = "database"
	}
	return s, nil
}
