package arch

// layer places packages. A package imports only packages of a lower height;
// pattern is a folder, or a folder and /* for everything right below it.
type layer struct {
	pattern string
	height  int
	job     string
}

func layers() []layer {
	return []layer{
		{".", 0, "the words that every part shares"},

		{"guard/cost", 0, "the words in which the cost of a query is told"},

		{"policy/*", 1, "pure decisions"},
		{"fingerprint", 1, "pure: turns requests into keyed hashes"},
		{"guard/redos", 1, "pure: how long a regular expression may take"},
		{"guard/elastic", 1, "pure: what a search request may cost"},
		{"guard/sql", 1, "pure: what a statement may cost"},
		{"guard/graphql", 1, "pure: what a GraphQL document may cost"},
		{"internal/cgroup", 1, "leaf: what the kernel says about memory"},
		{"internal/procstat", 1, "what the kernel says about a process and its machine"},
		{"internal/config", 1, "what the settings file says, checked by the policies and readers that it is for"},
		{"internal/proc", 1, "leaf: what everybody who starts processes needs"},
		{"internal/starter", 1, "leaf: how the server of a folder is started"},
		{"internal/marks", 1, "leaf: small facts that engines keep in a store"},
		{"internal/connlimit", 1, "leaf: how many connections a listener has, and whose goes"},
		{"internal/h1", 1, "leaf: HTTP/1.1 on the wire"},
		{"internal/h2", 1, "leaf: HTTP/2 connections to workers"},
		{"internal/regular", 1, "leaf: reads files that settings name"},
		{"internal/rows", 1, "leaf: where the rows of a file begin and end"},
		{"internal/schema", 1, "leaf: checks bodies against JSON Schemas"},
		{"internal/secret", 1, "leaf: the deployment's secret"},
		{"internal/brokers", 1, "leaf: how a queue of a message broker is named"},
		{"internal/pgerror", 1, "leaf: what an error of PostgreSQL says to do"},
		{"internal/redact", 1, "leaf: what people must not read"},
		{"internal/sigv4", 1, "leaf: who signed a request"},
		{"internal/facts", 1, "leaf: what workers of one folder know together"},
		{"internal/startlog", 1, "leaf: which messages have started, kept across a worker's death"},
		{"internal/certs", 1, "leaf: certificates whose files are followed"},
		{"internal/initproc", 1, "leaf: the first process of a container collects orphans"},
		{"internal/guardian", 2, "ends what jobs have left when the process that ran them is killed"},
		{"internal/handover", 1, "leaf: listening sockets that outlive a process"},
		{"internal/errlog", 1, "leaf: limits how often the log repeats an error"},
		{"internal/removal", 1, "leaf: whether a worker is being removed, which can be taken back"},
		{"internal/demo/*", 1, "leaves: what the demonstration is made of"},

		{"internal/ledger", 2, "engine: what is known about failing work"},
		{"internal/fleet", 2, "engine: who works"},
		{"internal/dispatch", 2, "engine: admit, attempt, judge"},
		{"queue", 2, "engine"},
		{"quota", 2, "engine: who uses how much"},
		{"internal/triage", 2, "engine: where people deal with dead letters"},
		{"guard", 2, "engine"},
		{"flow", 2, "engine: runs tasks in the order of a graph"},
		{"outbox", 2, "engine: delivers what a database has committed"},
		{"guard/hints", 2, "engine: asks backends for hints, and learns from their answers"},
		{"crash", 2, "engine"},
		{"sift", 2, "engine: finds the rows that make a run fail"},
		{"overload", 2, "engine: how much work runs at once, and whose is refused"},
		{"circuit", 2, "engine: circuit breakers that nodes share"},
		{"watchdog", 2, "engine: restarts workers that are about to fail"},
		{"internal/stale", 2, "engine: the last good answers"},
		{"internal/lease", 2, "pure: the rule of delivery that all queue stores share"},
		{"internal/judge", 2, "engine: whose fault a failed message is"},
		{"internal/child", 2, "engine: one job in one process"},
		{"internal/pool", 2, "engine: one job after another in one process"},
		{"internal/flowdraw", 2, "draws flows"},
		{"internal/evidence", 2, "what failed in a run: what its keeper saw, and what it printed"},
		{"internal/live", 2, "engine: which settings run"},
		{"internal/outgoing", 2, "what all sinks of an outbox share: order per key, and how events are told"},

		{"internal/tell", 2, "tells people by webhook, command and mail"},

		{"internal/adminapi", 3, "the contract of the admin API, in the engines' words"},
		{"internal/journal", 3, "keeps what is in flight across a crash of Bezoar"},
		{"internal/lastrun", 3, "says how the last run of Bezoar ended"},
		{"internal/probe", 3, "keeper of workers that run elsewhere"},
		{"internal/supervise", 3, "keeper of workers that Bezoar starts"},
		{"internal/store", 3, "store: chooses one by its URL"},
		{"internal/store/*", 3, "stores"},
		{"gateway", 3, "front: HTTP"},
		{"guard/sqlguard", 3, "front: guards an application's own statements"},
		{"guard/querylog", 3, "front: the queries in logs that others wrote"},
		{"health", 3, "front: how this process and what it calls are, over HTTP"},
		{"internal/flowfile", 3, "reads flows from files"},
		{"internal/taskrun", 3, "runs attempts of flows on this machine"},
		{"internal/rowfeed", 3, "front: feeds the rows of a file to a command"},
		{"worker", 3, "front: commands and Go functions"},
		{"internal/brokers/*", 3, "queues of message brokers, as sources of workers and sinks of an outbox"},
		{"internal/webhook", 3, "an HTTP endpoint, as a sink of an outbox"},
		{"internal/sinks", 3, "opens the sink of an outbox that a URL names"},
		{"internal/push", 3, "front: delivers messages to HTTP servers"},
		{"internal/sqs", 3, "front: the queue's wire"},
		{"internal/admin", 3, "front: the admin API"},
		{"internal/flownode", 3, "a process that plans flows and runs their attempts"},
		{"internal/flowapi", 3, "the API of flows, and its client"},
		{"internal/alarm", 3, "tells people about dead letters"},
		{"internal/cdc", 3, "front: what a PostgreSQL database commits, from its log"},
		{"internal/console", 3, "front: the page"},
		{"internal/metrics", 3, "counts what requests do, and shows what the engines count"},
		{"internal/tracing", 3, "sends spans of requests to a collector"},
		{"internal/sim", 3, "runs the policies in virtual time"},

		{"internal/apidoc", 3, "the description of the admin API, made from its contract by a test"},

		{"internal/app", 4, "wires everything"},
		{"queue/pgqueue", 4, "sends messages in an application's transactions, to a store in its database"},
		{"internal/outboxdb/*", 3, "outboxes in the databases of applications"},
		{"internal/outboxqueue", 3, "delivers events of an outbox to queues, in the outbox's transaction"},
		{"internal/flowletters", 3, "shows the dead letters of flows to triage"},
		{"internal/outboxletters", 3, "shows the parked events of outboxes to triage"},
		{"internal/outboxdb", 3, "opens the outbox of a database by its URL"},
		{"internal/outboxdemo", 4, "shows what crashes do to orders and their events"},
		{"internal/flowpage", 3, "tells people about flows"},
		{"internal/flowlocal", 4, "runs flows over a state directory"},
		{"internal/demo", 4, "runs the app against a crowd"},
		{"internal/doctor", 4, "looks at a deployment and says what is wrong"},
		{"internal/cli", 5, "flags, exit codes, text for people"},
		{"cmd/*", 5, "main functions"},
		{"examples/*", 5, "short programs for readers"},
		{"examples/handlers", 5, "the test that runs the handlers"},
		{"examples/handlers/go/*", 5, "likewise"},
		{"internal/arch", 5, "reads source, imports nothing"},
		{"internal/testrun", 5, "runs go test, imports nothing"},
	}
}

// testOnly are packages that only tests import. They may import anything below
// the fronts.
func testOnly() map[string]string {
	return map[string]string{
		"internal/golden":             "compares with golden files",
		"internal/browsertest":        "drives a real browser",
		"internal/ledger/ledgertest":  "the suite that every store passes",
		"internal/pgtest":             "starts PostgreSQL servers that tests stop and promote",
		"flow/flowtest":               "the suite that every store of flows passes",
		"queue/queuetest":             "the suite that every queue store passes",
		"quota/quotatest":             "the suite that every store of counts passes",
		"internal/brokers/brokertest": "the suite that every source for a message broker passes",
		"internal/sinks/sinktest":     "the suite that every sink of an outbox passes",
		"internal/worktest":           "runs bezoar work as a process",
		"internal/pace":               "tells tests how much to do, and how much of it at once",
		"outbox/outboxtest":           "the suite that every store of an outbox passes",
		"internal/live/livetest":      "the suite that every store of settings passes",
	}
}

// edge allows one import that the heights forbid.
type edge struct{ from, to, why string }

func edges() []edge {
	return []edge{
		{"internal/outboxdb/*", "internal/outboxdb/tables", "databases that need no more than plain SQL share the statements"},
		{"internal/config", "policy/backoff", "the time that all retries may take is computed by the policy"},
		{"internal/config", "policy/shard", "the default size of a shard is the policy's"},
		{"internal/config", "guard/redos", "names of dialects are checked by the reader that they are for"},
		{"internal/config", "guard/sql", "as are those of SQL"},
		{"internal/config", "internal/redact", "settings are shown without secrets by the table that all share"},
		{"policy/task", "policy/backoff", "the wait before a retry is decided with the retry"},
		{"internal/dispatch", "internal/ledger", "the dispatcher joins them: it asks the ledger before each attempt and tells it after"},
		{"internal/dispatch", "internal/fleet", "the dispatcher joins them: it takes workers from the fleet"},
		{"internal/store", "internal/store/*", "opens the one that the URL names"},
		{"internal/outboxdb", "internal/outboxdb/*", "likewise"},
		{"internal/store/*", "internal/store/record", "one form of a row, so that stores cannot disagree"},
		{"internal/triage", "queue", "dead letters are messages"},
		{"internal/lease", "queue", "it decides in the queue's words"},
		{"internal/brokers/*", "worker", "each is a Source of a worker, in its words"},
		{"internal/outgoing", "outbox", "it orders the outbox's records"},
		{"internal/sinks", "internal/brokers/*", "opens the one that the URL names"},
		{"internal/sinks", "internal/webhook", "likewise"},
		{"queue", "internal/judge", "one judge for all fronts: whose fault a failed message is"},
		{"flow", "internal/judge", "and whether a task's downstream works"},
		{"guard/hints", "guard", "it fills the guard's store of hints, in its words"},
		{"guard/sql", "guard/redos", "expressions in statements are judged by the same tests"},
		{"internal/procstat", "internal/cgroup", "one reader of where groups are mounted, in both versions"},
		{"internal/pool", "internal/child", "its children are isolated as those of one job, and jobs end in the same words"},
		{"internal/taskrun", "internal/rowfeed", "a task over rows is one of its siftings"},
		{"internal/flowdraw", "flow", "it draws definitions"},
		{"internal/evidence", "internal/child", "it says what the end of a child means"},
		{"internal/evidence", "crash", "and reads what the child printed"},
		{"internal/h1", "internal/connlimit", "the same parts of the descriptors for both servers"},
		{"internal/config", "internal/regular", "what settings name is read in one way"},
		{"internal/certs", "internal/regular", "as are certificates"},
		{"internal/supervise", "internal/probe", "the same health check for workers here and elsewhere"},
		{"internal/admin", "internal/adminapi", "the server and the contract that it serves"},
		{"internal/flownode", "internal/taskrun", "its engine runs attempts by the local executor"},
		{"internal/flowapi", "internal/adminapi", "flows are asked for, and refused, as everything else in the admin API"},
		{"internal/metrics", "internal/adminapi", "it answers who causes most in the contract's words"},
		{"internal/metrics", "gateway", "what it counts is the gateway's record of a request"},
		{"internal/tracing", "gateway", "it is a tracer for the gateway, in its words"},
		{"internal/demo", "internal/app", "the demonstration runs the real thing"},
		{"cmd/*", "internal/cli", "main only wires the command line to the app"},
	}
}

// ban forbids imports. from and to are patterns as in layer; to may also be a
// package or a prefix/... outside the module.
type ban struct {
	from, to string
	except   []string // patterns of from that may
	why      string
}

func bans() []ban {
	pure := "a policy is a step function: the caller passes time and randomness, holds the lock and does the I/O"
	wire := "the deciding core must not know the wire, so that a front can be swapped"
	sql := "only stores know SQL, and what is in an application's own database: a front that does cannot be served by another store"
	std := "words and policies must be readable, and importable, without anything else"
	return []ban{
		{".", "vendor/...", nil, std},
		{"policy/*", "vendor/...", nil, std},
		{"fingerprint", "vendor/...", nil, std},
		{"policy/*", "context", nil, pure},
		{"policy/*", "os/...", nil, pure},
		{"policy/*", "net/...", nil, pure},
		{"policy/*", "io/...", nil, pure},
		{"policy/*", "syscall", nil, pure},
		{"policy/*", "database/...", nil, pure},
		{"policy/*", "log/...", nil, pure},
		{"policy/*", "sync/...", nil, pure},
		{"policy/*", "runtime/...", nil, pure},
		{"policy/*", "math/rand", nil, "its global source cannot be replayed; take a *rand.Rand of math/rand/v2"},
		{"policy/*", "unsafe", nil, pure},
		{"fingerprint", "os/...", nil, "identity depends on the request and the key alone"},
		{"fingerprint", "net/http", nil, wire},
		{"internal/ledger", "net/...", nil, wire},
		{"internal/fleet", "net/...", nil, wire},
		{"internal/dispatch", "net/...", nil, wire},
		{"...", "database/sql/...", []string{"internal/store/*", "internal/outboxdb/*", "guard/sqlguard", "outbox", "internal/outboxdemo"}, sql},
		{"...", "github.com/jackc/...", []string{"internal/pgerror", "internal/store/*", "internal/outboxdb/*", "guard/sqlguard", "internal/outboxdemo", "queue/pgqueue", "internal/cdc"}, sql},
		{"...", "modernc.org/...", []string{"internal/store/*", "internal/outboxdb/*", "internal/outboxdemo"}, sql},
		{"...", "github.com/go-sql-driver/...", []string{"internal/outboxdb/*"}, sql},
		{"...", "github.com/pressly/...", []string{"internal/store/*"}, sql},
		{"internal/store/*", "net/http/...", nil, "a store does not know HTTP"},
		{"...", "github.com/alecthomas/...", []string{"internal/cli"}, "flags belong to the command line"},
		{"...", "github.com/santhosh-tekuri/...", []string{"internal/schema"}, "whose schemas and bodies are hostile: only there is a check bounded"},
		{"...", "github.com/twmb/...", []string{"internal/brokers/kafka"}, "one place that knows how to reach a broker of Kafka"},
		{"...", "github.com/rabbitmq/...", []string{"internal/brokers/amqp"}, "likewise RabbitMQ"},
		{"...", "github.com/nats-io/nats.go/...", []string{"internal/brokers/nats"}, "likewise NATS"},
		{"...", "github.com/nats-io/nats-server/...", nil, "tests run it; it stays out of the binary"},
		{"...", "github.com/gomodule/...", []string{"internal/brokers/redis"}, "likewise Redis"},
		{"...", "go.yaml.in/...", []string{"internal/config"}, "one strict reader of settings"},
		{"...", "github.com/vektah/...", nil, "tests hold guard/graphql against it; it builds a tree, and recurses"},
		{"...", "github.com/lib/...", nil, "tests hold guard/sqlguard against it"},
		{"...", "log", []string{"gateway", "internal/demo/sample", "examples/*"}, "log/slog, from the caller; only http.Server wants a *log.Logger"},
		{"...", "testing/...", nil, "tests stay out of the binary"},
		{"...", "net/http/httptest", nil, "tests stay out of the binary"},
		{"...", "pgregory.net/...", nil, "tests stay out of the binary; MPL"},
		{"...", "go.uber.org/goleak", nil, "tests stay out of the binary"},
		{"...", "github.com/google/go-cmp/...", nil, "tests stay out of the binary"},
		{"...", "github.com/rogpeppe/...", nil, "tests stay out of the binary"},
		{"...", "C", nil, "one static binary, without cgo"},
	}
}
