package cdc

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

// defaultHeartbeat is how often a reader makes the database write something.
const defaultHeartbeat = 10 * time.Second

// Config says which slot of which database is read.
type Config struct {
	URL         string // postgres://user:password@host:port/database?…; not through a pooler
	Slot        string // 1 to 63 of a-z, 0-9 and _
	Publication string // likewise
	// Heartbeat is how often the reader writes a message into the WAL. It moves the
	// slot of a quiet database forward while others are busy, and proves that
	// what is committed arrives. 0: 10 s.
	Heartbeat time.Duration
	Log       *slog.Logger // nil: none

	binary bool // values in PostgreSQL's binary format, which costs less
}

// String hides the password.
func (c Config) String() string {
	return fmt.Sprintf("{URL:%s Slot:%s Publication:%s Heartbeat:%v}", redact.Text(c.URL, redact.Hidden), c.Slot, c.Publication, c.Heartbeat)
}

// LogValue hides the password.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Validate reports every field that is out of bounds.
func (c Config) Validate() error {
	var faults []error
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		faults = append(faults, errors.New("URL: want postgres://user:password@host:port/database, the password percent-encoded"))
	} else if _, err := pgx.ParseConfig(c.URL); err != nil {
		faults = append(faults, fmt.Errorf("URL: %w", err)) // pgx has redacted it
	}
	for _, f := range []struct{ name, value string }{{"Slot", c.Slot}, {"Publication", c.Publication}} {
		if !validName(f.value) {
			faults = append(faults, fmt.Errorf("%s: %.80q is not 1 to 63 of a-z, 0-9 and _", f.name, f.value))
		}
	}
	if c.Heartbeat < 0 {
		faults = append(faults, fmt.Errorf("Heartbeat: %v is negative", c.Heartbeat))
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.Heartbeat == 0 {
		c.Heartbeat = defaultHeartbeat
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func validName(s string) bool { return regexp.MustCompile(`^[a-z_0-9]{1,63}$`).MatchString(s) }

// connectTimeout bounds one attempt to connect, unless the URL says otherwise.
const connectTimeout = 5 * time.Second

// settings reads the URL. With replication, the connection speaks the replication
// protocol, and shows values in one form whatever the database's settings are.
func (c Config) settings(replication bool) (*pgx.ConnConfig, error) {
	s, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return nil, err
	}
	if s.ConnectTimeout == 0 {
		s.ConnectTimeout = connectTimeout
	}
	if s.RuntimeParams["application_name"] == "" {
		s.RuntimeParams["application_name"] = "bezoar cdc " + c.Slot
	}
	if len(s.Fallbacks) > 0 && s.ValidateConnect == nil {
		// Of several servers, the one that takes writes.
		s.ValidateConnect = writable
	}
	for name := range s.RuntimeParams {
		if strings.HasPrefix(name, "pool_") { // for a pool, which the server does not know
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
