package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Outbox delivers the events that an application writes to its own database.
type Outbox struct {
	Database    string        `yaml:"database"`                   // Database of the application: postgres://user@host/database, mysql://user@host/database or sqlite:PATH.
	DatabaseEnv string        `yaml:"database_env"`               // Instead of database: environment variable that holds the URL.
	Schema      string        `yaml:"schema"`                     // PostgreSQL schema of the outbox's tables, or the beginning of their names elsewhere.
	Relay       string        `yaml:"relay"`                      // How new events are found: poll reads the table, cdc follows the write-ahead log of PostgreSQL as well.
	Notify      bool          `yaml:"notify"`                     // Listens for notifications of PostgreSQL as well, as bezoar outbox init --notify has commits send them.
	ParkAfter   int           `yaml:"park_after" range:"1..1000"` // Failed attempts after which Bezoar parks an event that its sink refuses or that kills the relay.
	Keep        time.Duration `yaml:"keep" range:"1m..8760h"`     // How long delivered events are kept in the table.
	Batch       OutboxBatch   `yaml:"batch"`                      // Bounds of one delivery.
	Sinks       []OutboxSink  `yaml:"sinks"`                      // Where events go. An event goes to the first sink that one of its topics matches.
	Tables      []OutboxTable `yaml:"tables"`                     // Tables of the application whose changes become events. They need relay: cdc.
	CopyOnLoss  bool          `yaml:"copy_on_loss"`               // Copies the tables again when the slot of their changes is lost. Off: capturing stops, because what was deleted meanwhile is not known.
}

// OutboxBatch bounds one delivery to a sink.
type OutboxBatch struct {
	Events int  `yaml:"events" range:"1..10000"`    // Most events.
	Bytes  Size `yaml:"bytes" range:"64KiB..64MiB"` // Most bytes. A longer event goes alone.
}

// OutboxSink is a destination of events.
type OutboxSink struct {
	Topics []string `yaml:"topics"` // Topics, or patterns: orders.* matches orders.paid, and * matches every topic.
	To     string   `yaml:"to"`     // A queue of this Bezoar, queue:NAME, or a URL: sqs:https://…, kafka://…/topic, nats://…/subject, amqp://…/exchange, redis://…/stream, https://…#secret_env=NAME.
}

// OutboxTable is a table whose changes become events.
type OutboxTable struct {
	Table string   `yaml:"table"` // Table, with its schema unless that is public.
	Topic string   `yaml:"topic"` // Topic of the events. {schema}, {table}, {op}, {key} and {row.COLUMN} stand for what they say. Default: {schema}.{table}.
	Key   string   `yaml:"key"`   // Key of the events, likewise. Default: {key}, the values of the primary key.
	Type  string   `yaml:"type"`  // Type of the events, likewise. Default: {table}.{op}, such as customers.insert.
	Omit  []string `yaml:"omit"`  // Columns that no event has.
	Copy  bool     `yaml:"copy"`  // The rows that are there at the start become events too, with the operation snapshot.
}

func (o *Outbox) setDefaults() {
	*o = Outbox{Schema: "bezoar_outbox", Relay: "poll", ParkAfter: 5, Keep: day, Batch: OutboxBatch{Events: 1000, Bytes: 4 << 20}}
}

// Limits of an outbox's lists.
const (
	maxSinks  = 256
	maxTables = 256
)

var (
	sqlName       = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`)
	tableName     = regexp.MustCompile(`^[^\s.\x00-\x1f]{1,63}(\.[^\s.\x00-\x1f]{1,63})?$`)
	topicTemplate = regexp.MustCompile(`^([A-Za-z0-9._-]|\{[^{}]+\})+$`)
	topicPattern  = regexp.MustCompile(`^([A-Za-z0-9._-]{1,255}|[A-Za-z0-9._-]{0,254}\*)$`)
)

func (c *Config) checkOutboxes(k *checker) {
	type place struct{ database, env, schema string }
	seen := map[place]string{}
	for _, name := range sortedKeys(c.Outbox) {
		o, at := c.Outbox[name], "outbox."+shortKey(name)
		o.check(k, at, c)
		here := place{o.Database, o.DatabaseEnv, o.Schema}
		if other, again := seen[here]; again && here != (place{schema: o.Schema}) {
			k.addf(at, "put the sinks of both under one name, or use a separate schema", "is the same outbox as %s: database and schema are equal", quoted(other))
		}
		seen[here] = name
	}
}

func (o *Outbox) check(k *checker, at string, c *Config) {
	switch {
	case o.Database == "" && o.DatabaseEnv == "":
		k.add(at, flawf("add database: postgres://user@host/database, or database_env", "has no database"), at+".database", at+".database_env")
	case o.Database != "" && o.DatabaseEnv != "":
		k.addf(at+".database_env", "keep one", "database is set as well")
	case o.DatabaseEnv != "" && !envName.MatchString(o.DatabaseEnv):
		k.addf(at+".database_env", "write the variable's name, not the URL", "is not the name of an environment variable")
	case o.Database != "":
		k.add(at+".database", outboxDatabaseFlaw(o.Database))
	}
	k.when(!sqlName.MatchString(o.Schema), at+".schema", "use up to 51 of a-z, 0-9 and _, without a digit at the beginning", "%s is not a valid schema name", quoted(o.Schema))
	k.add(at+".relay", choiceFlaw(o.Relay, []string{"poll", "cdc"}))
	if scheme, _, _ := strings.Cut(o.Database, ":"); o.Relay == "cdc" && (scheme == "sqlite" || scheme == "mysql") {
		k.add(at+".relay", flawf("write poll", "needs PostgreSQL, and the database is %s", scheme), at+".database")
	}
	k.add(at, flawIf(len(o.Sinks) == 0, "add sinks: [{topics: ['*'], to: queue:orders}]", "has no sinks"), at+".sinks")
	if n := len(o.Sinks); n > maxSinks {
		k.addf(at+".sinks", "shorten it", "has %d items, more than %d", n, maxSinks)
	}
	for i := range o.Sinks {
		o.Sinks[i].check(k, fmt.Sprintf("%s.sinks[%d]", at, i), c)
	}
	o.checkTables(k, at+".tables")
}

// outboxDatabaseFlaw checks the URL. Its errors do not repeat the URL, which may contain a
// password.
func outboxDatabaseFlaw(database string) *flaw {
	const fix = "write postgres://user@host/database, mysql://user@host/database or sqlite:PATH"
	scheme, rest, _ := strings.Cut(database, ":")
	switch scheme {
	case "sqlite", "postgres", "postgresql":
		return storeFlaw(database)
	case "mysql":
		if u, err := url.Parse(database); err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			return flawf("write mysql://user@host:3306/database", "is not the URL of a database")
		}
		return nil
	}
	if rest == "" {
		return flawf(fix, "is not a URL")
	}
	return flawf(fix+didYouMean(scheme, []string{"postgres", "mysql", "sqlite"}), "%s is not a kind of database for an outbox", quoted(scheme+":"))
}

// OutboxSchemes returns the URL schemes of sinks.
func OutboxSchemes() []string {
	return []string{"queue", "https", "http", "kafka", "sqs", "amqp", "amqps", "nats", "redis", "rediss"}
}

func (s *OutboxSink) check(k *checker, at string, c *Config) {
	k.add(at, flawIf(len(s.Topics) == 0, "add topics: ['*'], or the topics of the sink", "has no topics"), at+".topics")
	for i, t := range s.Topics {
		k.when(!topicPattern.MatchString(t), fmt.Sprintf("%s.topics[%d]", at, i), "use letters, digits, ., - and _, and * at the end only", "%s is not a topic or a pattern", quoted(t))
	}
	k.add(at+".to", sinkFlaw(s.To))
	if name, ok := strings.CutPrefix(s.To, "queue:"); ok && isQueueName(name) {
		if _, known := c.Queues[name]; !known {
			k.add(at+".to", flawf("define it under queues"+didYouMean(name, sortedKeys(c.Queues)), "there is no queue %s", quoted(name)), "queues")
		}
	}
}

// sinkFlaw checks the address of a sink. Its errors repeat only the scheme, because the
// rest may be secret.
func sinkFlaw(to string) *flaw {
	scheme, rest, ok := strings.Cut(to, ":")
	switch {
	case to == "":
		return flawf("write to: queue:NAME, or a URL", "is missing")
	case !ok || !slices.Contains(OutboxSchemes(), scheme):
		if !ok {
			scheme = ""
		}
		return flawf("write one of "+strings.Join(OutboxSchemes(), ", ")+" before the colon"+didYouMean(scheme, OutboxSchemes()), "has an unknown scheme")
	case scheme == "queue" && !isQueueName(rest):
		return flawf("write queue:NAME", "%s is not a valid queue name", quoted(rest))
	case scheme == "http", scheme == "https":
		if u, err := url.Parse(to); err != nil || u.Host == "" {
			return flawf("write https://host/path", "is not a URL")
		}
	case scheme == "sqs":
		if u, err := url.Parse(rest); err != nil || u.Host == "" {
			return flawf("write sqs:https://host/account/queue", "is not the URL of a queue")
		}
	case scheme != "queue": // may have several hosts, which net/url does not accept
		if _, ok := strings.CutPrefix(rest, "//"); !ok || len(rest) < 3 {
			return flawf("write "+scheme+"://host/NAME", "is not a URL")
		}
	}
	return nil
}

func (o *Outbox) checkTables(k *checker, at string) {
	k.add(at, flawIf(len(o.Tables) > 0 && o.Relay == "poll", "write relay: cdc, or remove tables", "need relay: cdc"), parent(at)+".relay")
	if n := len(o.Tables); n > maxTables {
		k.addf(at, "shorten it", "has %d items, more than %d", n, maxTables)
	}
	seen := map[string]int{}
	for i, t := range o.Tables {
		here := fmt.Sprintf("%s[%d]", at, i)
		switch j, again := seen[t.Table]; {
		case t.Table == "":
			k.add(here, flawf("add table: NAME", "has no table"), here+".table")
		case !tableName.MatchString(t.Table):
			k.addf(here+".table", "write NAME or SCHEMA.NAME", "%s is not a valid table name", quoted(t.Table))
		case again:
			k.addf(here+".table", "remove it", "%s is already listed, as tables[%d]", quoted(t.Table), j)
		}
		seen[t.Table] = i
		k.when(t.Topic != "" && (len(t.Topic) > 255 || !topicTemplate.MatchString(t.Topic)), here+".topic", "use letters, digits, ., - and _, and parts such as {table}", "%s is not a topic", quoted(t.Topic))
	}
}

// outboxSecrets returns the environment variables with secrets of outboxes.
func (c *Config) outboxSecrets() []string {
	var all []string
	for _, o := range c.Outbox {
		all = append(all, o.DatabaseEnv)
		for _, s := range o.Sinks {
			all = append(all, variables(s.To)...)
		}
	}
	return all
}

// variables returns the environment variables in a sink's address.
func variables(to string) (all []string) {
	_, params, _ := strings.Cut(to, "#")
	for param := range strings.SplitSeq(params, "&") {
		if name, value, _ := strings.Cut(param, "="); strings.HasSuffix(name, "_env") {
			all = append(all, value)
		}
	}
	return all
}
