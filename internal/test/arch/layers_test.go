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

		{"internal/state/statefile", 0, "leaf: files that outlive a process"},
		{"internal/faults", 0, "leaf: every fault of a configuration"},
		{"guard/cost", 0, "the words in which the cost of a query is told"},

		{"policy/*", 1, "pure decisions"},
		{"fingerprint", 1, "pure: turns requests into keyed hashes"},
		{"guard/redos", 1, "pure: how long a regular expression may take"},
		{"guard/elastic", 1, "pure: what a search request may cost"},
		{"guard/sql", 1, "pure: what a statement may cost"},
		{"guard/graphql", 1, "pure: what a GraphQL document may cost"},
		{"internal/process/cgroup", 1, "leaf: what the kernel says about memory"},
		{"internal/process/procstat", 1, "what the kernel says about a process and its machine"},
		{"internal/control/config", 1, "what the settings file says, checked by the policies and readers that it is for"},
		{"internal/process/proc", 1, "leaf: what everybody who starts processes needs"},
		{"internal/cli/starter", 1, "leaf: how the server of a folder is started"},
		{"internal/state/marks", 1, "leaf: small facts that engines keep in a store"},
		{"internal/gateway/connlimit", 1, "leaf: how many connections a listener has, and whose goes"},
		{"internal/gateway/h1", 1, "leaf: HTTP/1.1 on the wire"},
		{"internal/gateway/h2", 1, "leaf: HTTP/2 connections to workers"},
		{"internal/control/regular", 1, "leaf: reads files that settings name"},
		{"internal/process/rows", 1, "leaf: where the rows of a file begin and end"},
		{"internal/queue/schema", 1, "leaf: checks bodies against JSON Schemas"},
		{"internal/state/secret", 1, "leaf: the deployment's secret"},
		{"internal/brokers", 1, "leaf: how a queue of a message broker is named"},
		{"internal/store/pgerror", 1, "leaf: what an error of PostgreSQL says to do"},
		{"internal/control/redact", 1, "leaf: what people must not read"},
		{"internal/queue/sigv4", 1, "leaf: who signed a request"},
		{"internal/state/facts", 1, "leaf: what workers of one folder know together"},
		{"internal/state/startlog", 1, "leaf: which messages have started, kept across a worker's death"},
		{"internal/gateway/certs", 1, "leaf: certificates whose files are followed"},
		{"internal/process/initproc", 1, "leaf: the first process of a container collects orphans"},
		{"internal/process/guardian", 2, "ends what jobs have left when the process that ran them is killed"},
		{"internal/state/handover", 1, "leaf: listening sockets that outlive a process"},
		{"internal/control/errlog", 1, "leaf: limits how often the log repeats an error"},
		{"internal/process/removal", 1, "leaf: whether a worker is being removed, which can be taken back"},
		{"internal/demo/*", 1, "leaves: what the demonstration is made of"},

		{"internal/dispatch/ledger", 2, "engine: what is known about failing work"},
		{"internal/dispatch/fleet", 2, "engine: who works"},
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
		{"internal/process/watchdog", 2, "engine: restarts workers that are about to fail"},
		{"internal/gateway/stale", 2, "engine: the last good answers"},
		{"internal/queue/lease", 2, "pure: the rule of delivery that all queue stores share"},
		{"internal/judge", 2, "engine: whose fault a failed message is"},
		{"internal/process/child", 2, "engine: one job in one process"},
		{"internal/process/pool", 2, "engine: one job after another in one process"},
		{"internal/flow/flowdraw", 2, "draws flows"},
		{"internal/process/evidence", 2, "what failed in a run: what its keeper saw, and what it printed"},
		{"internal/control/live", 2, "engine: which settings run"},
		{"internal/outbox/outgoing", 2, "what all sinks of an outbox share: order per key, and how events are told"},

		{"internal/triage/tell", 2, "tells people by webhook, command and mail"},

		{"internal/control/adminapi", 3, "the contract of the admin API, in the engines' words"},
		{"internal/state/journal", 3, "keeps what is in flight across a crash of Bezoar"},
		{"internal/state/lastrun", 3, "says how the last run of Bezoar ended"},
		{"internal/process/probe", 3, "keeper of workers that run elsewhere"},
		{"internal/process/supervise", 3, "keeper of workers that Bezoar starts"},
		{"internal/store", 3, "store: chooses one by its URL"},
		{"internal/store/*", 3, "stores"},
		{"gateway", 3, "front: HTTP"},
		{"guard/sqlguard", 3, "front: guards an application's own statements"},
		{"guard/querylog", 3, "front: the queries in logs that others wrote"},
		{"health", 3, "front: how this process and what it calls are, over HTTP"},
		{"internal/flow/flowfile", 3, "reads flows from files"},
		{"internal/flow/taskrun", 3, "runs attempts of flows on this machine"},
		{"internal/process/rowfeed", 3, "front: feeds the rows of a file to a command"},
		{"worker", 3, "front: commands and Go functions"},
		{"internal/brokers/*", 3, "queues of message brokers, as sources of workers and sinks of an outbox"},
		{"internal/outbox/webhook", 3, "an HTTP endpoint, as a sink of an outbox"},
		{"internal/outbox/sinks", 3, "opens the sink of an outbox that a URL names"},
		{"internal/queue/push", 3, "front: delivers messages to HTTP servers"},
		{"internal/queue/sqs", 3, "front: the queue's wire"},
		{"internal/control/admin", 3, "front: the admin API"},
		{"internal/flow/flownode", 3, "a process that plans flows and runs their attempts"},
		{"internal/flow/flowapi", 3, "the API of flows, and its client"},
		{"internal/triage/alarm", 3, "tells people about dead letters"},
		{"internal/outbox/cdc", 3, "front: what a PostgreSQL database commits, from its log"},
		{"internal/control/console", 3, "front: the page"},
		{"internal/control/metrics", 3, "counts what requests do, and shows what the engines count"},
		{"internal/control/tracing", 3, "sends spans of requests to a collector"},
		{"internal/test/sim", 3, "runs the policies in virtual time"},

		{"internal/control/apidoc", 3, "the description of the admin API, made from its contract by a test"},

		{"internal/app", 4, "wires everything"},
		{"queue/pgqueue", 4, "sends messages in an application's transactions, to a store in its database"},
		{"internal/outbox/outboxdb/*", 3, "outboxes in the databases of applications"},
		{"internal/outbox/outboxqueue", 3, "delivers events of an outbox to queues, in the outbox's transaction"},
		{"internal/flow/flowletters", 3, "shows the dead letters of flows to triage"},
		{"internal/outbox/outboxletters", 3, "shows the parked events of outboxes to triage"},
		{"internal/outbox/outboxdb", 3, "opens the outbox of a database by its URL"},
		{"internal/outbox/outboxdemo", 4, "shows what crashes do to orders and their events"},
		{"internal/flow/flowpage", 3, "tells people about flows"},
		{"internal/flow/flowlocal", 4, "runs flows over a state directory"},
		{"internal/demo", 4, "runs the app against a crowd"},
		{"internal/cli/doctor", 4, "looks at a deployment and says what is wrong"},
		{"internal/cli", 5, "flags, exit codes, text for people"},
		{"cmd/*", 5, "main functions"},
		{"examples/*", 5, "short programs for readers"},
		{"examples/handlers", 5, "the test that runs the handlers"},
		{"examples/handlers/go/*", 5, "likewise"},
		{"internal/test/arch", 5, "reads source, imports nothing"},
		{"internal/test/testrun", 5, "runs go test, imports nothing"},
	}
}

// testOnly are packages that only tests import. They may import anything below
// the fronts.
func testOnly() map[string]string {
	return map[string]string{
		"internal/test/golden":                "compares with golden files",
		"internal/test/browsertest":           "drives a real browser",
		"internal/dispatch/ledger/ledgertest": "the suite that every store passes",
		"internal/test/pgtest":                "starts PostgreSQL servers that tests stop and promote",
		"flow/flowtest":                       "the suite that every store of flows passes",
		"queue/queuetest":                     "the suite that every queue store passes",
		"quota/quotatest":                     "the suite that every store of counts passes",
		"internal/brokers/brokertest":         "the suite that every source for a message broker passes",
		"internal/outbox/sinks/sinktest":      "the suite that every sink of an outbox passes",
		"internal/test/worktest":              "runs bezoar work as a process",
		"internal/test/suite":                 "what the suites share",
		"internal/test/pace":                  "tells tests how much to do, and how much of it at once",
		"outbox/outboxtest":                   "the suite that every store of an outbox passes",
		"internal/control/live/livetest":      "the suite that every store of settings passes",
	}
}

// edge allows one import that the heights forbid.
type edge struct{ from, to, why string }

func edges() []edge {
	return []edge{
		{"internal/outbox/outboxdb/*", "internal/outbox/outboxdb/tables", "databases that need no more than plain SQL share the statements"},
		{"internal/control/config", "policy/backoff", "the time that all retries may take is computed by the policy"},
		{"internal/control/config", "policy/shard", "the default size of a shard is the policy's"},
		{"internal/control/config", "guard/redos", "names of dialects are checked by the reader that they are for"},
		{"internal/control/config", "guard/sql", "as are those of SQL"},
		{"internal/control/config", "internal/control/redact", "settings are shown without secrets by the table that all share"},
		{"policy/task", "policy/backoff", "the wait before a retry is decided with the retry"},
		{"internal/dispatch", "internal/dispatch/ledger", "the dispatcher joins them: it asks the ledger before each attempt and tells it after"},
		{"internal/dispatch", "internal/dispatch/fleet", "the dispatcher joins them: it takes workers from the fleet"},
		{"internal/store", "internal/store/*", "opens the one that the URL names"},
		{"internal/outbox/outboxdb", "internal/outbox/outboxdb/*", "likewise"},
		{"internal/store/*", "internal/store/record", "one form of a row, so that stores cannot disagree"},
		{"internal/triage", "queue", "dead letters are messages"},
		{"internal/queue/lease", "queue", "it decides in the queue's words"},
		{"internal/brokers/*", "worker", "each is a Source of a worker, in its words"},
		{"internal/outbox/outgoing", "outbox", "it orders the outbox's records"},
		{"internal/outbox/sinks", "internal/brokers/*", "opens the one that the URL names"},
		{"internal/outbox/sinks", "internal/outbox/webhook", "likewise"},
		{"queue", "internal/judge", "one judge for all fronts: whose fault a failed message is"},
		{"flow", "internal/judge", "and whether a task's downstream works"},
		{"guard/hints", "guard", "it fills the guard's store of hints, in its words"},
		{"guard/sql", "guard/redos", "expressions in statements are judged by the same tests"},
		{"internal/process/procstat", "internal/process/cgroup", "one reader of where groups are mounted, in both versions"},
		{"internal/process/pool", "internal/process/child", "its children are isolated as those of one job, and jobs end in the same words"},
		{"internal/flow/taskrun", "internal/process/rowfeed", "a task over rows is one of its siftings"},
		{"internal/flow/flowdraw", "flow", "it draws definitions"},
		{"internal/process/evidence", "internal/process/child", "it says what the end of a child means"},
		{"internal/process/evidence", "crash", "and reads what the child printed"},
		{"internal/gateway/h1", "internal/gateway/connlimit", "the same parts of the descriptors for both servers"},
		{"internal/control/config", "internal/control/regular", "what settings name is read in one way"},
		{"internal/gateway/certs", "internal/control/regular", "as are certificates"},
		{"internal/process/supervise", "internal/process/probe", "the same health check for workers here and elsewhere"},
		{"internal/control/admin", "internal/control/adminapi", "the server and the contract that it serves"},
		{"internal/flow/flownode", "internal/flow/taskrun", "its engine runs attempts by the local executor"},
		{"internal/flow/flowapi", "internal/control/adminapi", "flows are asked for, and refused, as everything else in the admin API"},
		{"internal/control/metrics", "internal/control/adminapi", "it answers who causes most in the contract's words"},
		{"internal/control/metrics", "gateway", "what it counts is the gateway's record of a request"},
		{"internal/control/tracing", "gateway", "it is a tracer for the gateway, in its words"},
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
		{"internal/dispatch/ledger", "net/...", nil, wire},
		{"internal/dispatch/fleet", "net/...", nil, wire},
		{"internal/dispatch", "net/...", nil, wire},
		{"...", "database/sql/...", []string{"internal/store/*", "internal/outbox/outboxdb/*", "guard/sqlguard", "outbox", "internal/outbox/outboxdemo"}, sql},
		{"...", "github.com/jackc/...", []string{"internal/store/pgerror", "internal/store/*", "internal/outbox/outboxdb/*", "guard/sqlguard", "internal/outbox/outboxdemo", "queue/pgqueue", "internal/outbox/cdc"}, sql},
		{"...", "modernc.org/...", []string{"internal/store/*", "internal/outbox/outboxdb/*", "internal/outbox/outboxdemo"}, sql},
		{"...", "github.com/go-sql-driver/...", []string{"internal/outbox/outboxdb/*"}, sql},
		{"...", "github.com/pressly/...", []string{"internal/store/*"}, sql},
		{"internal/store/*", "net/http/...", nil, "a store does not know HTTP"},
		{"...", "github.com/alecthomas/...", []string{"internal/cli"}, "flags belong to the command line"},
		{"...", "github.com/santhosh-tekuri/...", []string{"internal/queue/schema"}, "whose schemas and bodies are hostile: only there is a check bounded"},
		{"...", "github.com/twmb/...", []string{"internal/brokers/kafka"}, "one place that knows how to reach a broker of Kafka"},
		{"...", "github.com/rabbitmq/...", []string{"internal/brokers/amqp"}, "likewise RabbitMQ"},
		{"...", "github.com/nats-io/nats.go/...", []string{"internal/brokers/nats"}, "likewise NATS"},
		{"...", "github.com/nats-io/nats-server/...", nil, "tests run it; it stays out of the binary"},
		{"...", "github.com/gomodule/...", []string{"internal/brokers/redis"}, "likewise Redis"},
		{"...", "go.yaml.in/...", []string{"internal/control/config"}, "one strict reader of settings"},
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
