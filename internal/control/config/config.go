package config

import (
	"net/netip"
	"time"
)

// Config is everything that Bezoar can be told. The zero value is not useful:
// begin with [Default].
type Config struct {
	Listen         string               `yaml:"listen"`                          // Address for callers, host:port. Empty: no gateway.
	Listeners      []Listener           `yaml:"listeners"`                       // Further addresses for callers. They have the same routes.
	Connections    *Connections         `yaml:"connections"`                     // Bounds on callers' connections.
	Admin          string               `yaml:"admin"`                           // Address of the console, the API and the metrics, host:port. Empty: none.
	AdminTokenFile string               `yaml:"admin_token_file"`                // File whose first line is the admin token. A token is required on any address but loopback.
	AdminTokenEnv  string               `yaml:"admin_token_env"`                 // Environment variable that holds the admin token.
	Store          string               `yaml:"store"`                           // Where state is kept: sqlite:PATH, postgres://… or memory:.
	StoreWait      time.Duration        `yaml:"store_wait" range:"0s..24h"`      // How long the start waits for a store that does not answer.
	StateDir       string               `yaml:"state_dir"`                       // Folder of the secret and the journals. Default: .bezoar beside the store.
	TLS            *TLS                 `yaml:"tls"`                             // Certificate of listen. Absent: plain HTTP.
	TrustedProxies []netip.Prefix       `yaml:"trusted_proxies"`                 // Networks of the proxies in front, whose X-Forwarded-For and Forwarded headers are believed.
	BufferTotal    Size                 `yaml:"buffer_total" range:"1MiB..1TiB"` // Memory for all buffered bodies together.
	ShutdownDelay  time.Duration        `yaml:"shutdown_delay" range:"0s..10m"`  // Time between SIGTERM and the end of accepting callers. Bezoar reports itself as not ready meanwhile.
	Fleets         map[string]Fleet     `yaml:"fleets"`                          // Fleets by name.
	Routes         []Route              `yaml:"routes"`                          // Routes. The most specific match wins: host, then path, then methods.
	SQS            string               `yaml:"sqs"`                             // Address of the SQS-compatible endpoint, host:port, or off. Default: 127.0.0.1:9324 if there are queues.
	SQSHosts       []string             `yaml:"sqs_hosts"`                       // Host names by which clients may call an endpoint on loopback.
	SQSTLS         *Cert                `yaml:"sqs_tls"`                         // Certificate of the SQS endpoint. Absent: plain HTTP.
	AccessKeys     map[string]AccessKey `yaml:"access_keys"`                     // Keys of SQS clients by access key id. Absent: signatures are not checked.
	Queues         map[string]Queue     `yaml:"queues"`                          // Queues by name.
	Alarms         map[string]Alarm     `yaml:"alarms"`                          // Alarms by name.
	Flows          *Flows               `yaml:"flows"`                           // Flows that this process plans, and the tasks that it runs. Absent: none.
	Outbox         map[string]Outbox    `yaml:"outbox"`                          // Outboxes of applications by name, whose events this process delivers.
	Plans          map[string]Plan      `yaml:"plans"`                           // Tiers of callers by name, for routes that list them.
	Node           string               `yaml:"node"`                            // Name of this process among those that share a store. Default: host and process id.
	Health         Checks               `yaml:"health"`                          // When Bezoar itself reports that it is unhealthy.
	Live           Live                 `yaml:"live"`                            // How settings change while Bezoar runs.
	Callers        *Callers             `yaml:"callers"`                         // How operators see callers.
	AccessLog      *AccessLog           `yaml:"access_log"`                      // Log of requests. Absent: only failures are logged, at level info.
	Tracing        *Tracing             `yaml:"tracing"`                         // Traces of requests. Absent: none.
}

// Listener is an additional address for callers.
type Listener struct {
	Listen string `yaml:"listen"` // Address, host:port.
	Plain  bool   `yaml:"plain"`  // Serves plain HTTP although tls is set.
}

// Connections bounds callers' connections.
type Connections struct {
	Idle     time.Duration `yaml:"idle" range:"1s..24h"`     // Longest time between two requests on one connection.
	Lifetime time.Duration `yaml:"lifetime" range:"0s..24h"` // Age at which a connection is closed after its next answer. 0s: never.
}

func (c *Connections) setDefaults() { *c = Connections{Idle: 2 * time.Minute} }

// Streams bounds long-lived answers, including WebSockets. Bezoar then closes both ends.
type Streams struct {
	Idle  time.Duration `yaml:"idle" range:"0s..24h"`   // A stream in which nothing moves for this long is closed. 0s: never.
	Total time.Duration `yaml:"total" range:"0s..168h"` // A stream is closed this long after its answer has begun. 0s: never.
}

// TLS names the listener's certificates and keys, all PEM files. Changed files are read
// again.
type TLS struct {
	Cert string `yaml:"cert"` // PEM file with the certificate and its chain. A changed file is read again.
	Key  string `yaml:"key"`  // PEM file with the private key.
	More []Cert `yaml:"more"` // Further certificates, chosen by the name that the caller asks for (SNI).

	Redirect string `yaml:"redirect"` // Address of plain HTTP, host:port, from which callers are redirected to HTTPS. Empty: none.
}

// Cert is an additional certificate of a listener.
type Cert struct {
	Cert string `yaml:"cert"` // PEM file with the certificate and its chain. A changed file is read again.
	Key  string `yaml:"key"`  // PEM file with the private key.
}

// Fleet is a set of interchangeable workers: processes that Bezoar starts
// (Command) or servers that run elsewhere (Workers).
type Fleet struct {
	Command      []string          `yaml:"command"`                         // Program and arguments of a worker that Bezoar starts. {port} stands for the worker's port; PORT holds it too.
	Dir          string            `yaml:"dir"`                             // Working directory of command.
	Env          map[string]string `yaml:"env"`                             // Variables added to the environment of command.
	EnvDrop      []string          `yaml:"env_drop"`                        // Variables that command does not inherit. A * at the end matches any rest.
	EnvKeep      []string          `yaml:"env_keep"`                        // Variables that command inherits although env_drop or a default drops them.
	User         string            `yaml:"user"`                            // User that command runs as: NAME or NAME:GROUP. Empty: the user of Bezoar.
	Replicas     int               `yaml:"replicas" range:"1..1024"`        // Number of workers that Bezoar starts. Default: 2.
	Workers      []string          `yaml:"workers"`                         // Workers that run elsewhere: http://host:port, https://host:port or unix:/path. A path is put in front of every request's path.
	TLS          *WorkerTLS        `yaml:"tls"`                             // How connections to workers with https are secured. Absent: as the system trusts.
	Resolve      time.Duration     `yaml:"resolve" range:"100ms..24h"`      // Time between two look-ups of the workers' host names, ±20 %.
	HTTP2        bool              `yaml:"http2"`                           // Speaks HTTP/2 to the workers, as gRPC needs. Off: HTTP/1.1.
	Health       Health            `yaml:"health"`                          // How a worker proves that it is alive.
	Grace        time.Duration     `yaml:"grace" range:"0s..10m"`           // Time between SIGTERM and SIGKILL.
	Drain        time.Duration     `yaml:"drain" range:"0s..1h"`            // Time that requests in flight get before SIGTERM.
	Bake         Bake              `yaml:"bake"`                            // What a new process must achieve before the next worker is replaced.
	Memory       Size              `yaml:"memory" range:"4MiB..16TiB"`      // Memory limit of each worker that Bezoar starts. Absent: none.
	MaxInFlight  int               `yaml:"max_in_flight" range:"1..100000"` // Most requests in flight on one worker.
	AnswerFields int               `yaml:"answer_fields" range:"1..10000"`  // Most header fields of an answer.
	LaneShare    Ratio             `yaml:"lane_share" range:"1%..50%"`      // Share of the workers that may run suspects, and of those that may have a substitute while they hang, at the same time. At least one worker may.
	Concurrency  *Concurrency      `yaml:"concurrency"`                     // Limit on the requests in flight in the whole fleet. Absent: none.
	Shard        *Shard            `yaml:"shard"`                           // Gives each caller a few workers of the fleet, so that one caller cannot hurt all. Absent: every caller may meet every worker.
	Balance      Balance           `yaml:"balance"`                         // How traffic is spread over the healthy workers.
	Watchdog     *Watchdog         `yaml:"watchdog"`                        // Restarts workers before they fail. Absent: none.
	Retries      Budget            `yaml:"retries"`                         // Retry budget of all routes of the fleet together.
	Optional     bool              `yaml:"optional"`                        // Bezoar is ready although this fleet is not.
}

// WorkerTLS says how connections to workers are secured. The files are PEM. Changed files
// are read again.
type WorkerTLS struct {
	CA   string `yaml:"ca"`   // PEM file with the authorities of the workers' certificates. Empty: those of the system.
	Name string `yaml:"name"` // Name that the workers' certificates must have. Empty: the worker's host name.
	Cert string `yaml:"cert"` // PEM file with the certificate that Bezoar shows to workers.
	Key  string `yaml:"key"`  // PEM file with the private key of cert.
}

// BasePath returns the path prefix of every request to the workers.
func (f *Fleet) BasePath() string {
	for _, w := range f.Workers { // all workers have the same
		return basePath(w)
	}
	return ""
}

// Health says how a worker proves that it is healthy.
type Health struct {
	Path       string        `yaml:"path"`                         // Path that is asked with GET. 2xx and 3xx are healthy. Empty: the port has to accept a connection.
	GRPC       string        `yaml:"grpc"`                         // Instead of path: service name for grpc.health.v1, or * for the whole server.
	Interval   time.Duration `yaml:"interval" range:"100ms..1h"`   // Time between two checks.
	Timeout    time.Duration `yaml:"timeout" range:"10ms..1m"`     // Time that one check may take.
	PanicBelow Ratio         `yaml:"panic_below" range:"0%..100%"` // Below this share of healthy workers, health checks are ignored and all workers get traffic.
}

// Route says which requests go to which fleet, and how they are treated.
type Route struct {
	Match          Match         `yaml:"match"`                          // Which requests the route is for.
	Fleet          string        `yaml:"fleet"`                          // Fleet that answers.
	Redirect       *Redirect     `yaml:"redirect"`                       // Instead of fleet: sends callers to another URL.
	Enqueue        string        `yaml:"enqueue"`                        // Instead of fleet: queue that takes the request. Callers are answered 202.
	Quarantine     Quarantine    `yaml:"quarantine"`                     // When work is refused, and for how long.
	Retry          Retry         `yaml:"retry"`                          // How often work is sent again.
	Timeout        time.Duration `yaml:"timeout" range:"1ms..24h"`       // Time until the answer must begin.
	Sticky         string        `yaml:"sticky"`                         // Chooses the worker by a value: header:NAME or cookie:NAME. Empty: by load.
	Streams        *Streams      `yaml:"streams"`                        // Bounds on answers that go on, such as WebSockets and event streams. Absent: none.
	HalfClose      bool          `yaml:"half_close"`                     // Callers that close their sending side still get the answer.
	Buffer         Size          `yaml:"buffer" range:"0..16MiB"`        // Bytes of a body that are held for its fingerprint and for a second attempt.
	BufferAnswer   Size          `yaml:"buffer_answer" range:"0..64MiB"` // Bytes of an answer that are held in memory, and more on disk, for callers that read slowly. 0: the worker waits for them.
	BufferBody     Size          `yaml:"buffer_body" range:"0..1GiB"`    // Longest body that is read completely before a worker is asked, on disk beyond buffer. It is sent with its length. 0: longer bodies than buffer are sent on as they come.
	MaxBody        Size          `yaml:"max_body" range:"0..1TiB"`       // Longest body. Longer ones are answered 413. 0: no limit.
	StripPrefix    string        `yaml:"strip_prefix"`                   // Prefix that is removed from the path before the worker sees it.
	RequestHeaders *HeaderEdit   `yaml:"request_headers"`                // Changes the headers that the worker gets.
	AnswerHeaders  *HeaderEdit   `yaml:"answer_headers"`                 // Changes the headers of the worker's answer.
	Ignore         []string      `yaml:"ignore"`                         // Parts of a request that do not belong to its fingerprint: header:NAME, query:NAME, form:NAME or json:$.a.b.
	Headers        []string      `yaml:"headers"`                        // Headers that belong to the fingerprint.
	Volatile       []string      `yaml:"volatile"`                       // Headers that differ in every request, beside the usual ones such as X-Request-Id.
	Client         string        `yaml:"client"`                         // What identifies a caller: header:NAME, jwt:CLAIM or ip. Empty: callers are not told apart.
	Callers        *RouteCallers `yaml:"callers"`                        // How operators see the callers of this route.
	Limits         []Limit       `yaml:"limits"`                         // Rate limits for every caller.
	Plans          []string      `yaml:"plans"`                          // Names of plans. The first one that has the caller applies as well.
	Priority       Priority      `yaml:"priority"`                       // Which requests are refused first under overload.
	Guard          *Guard        `yaml:"guard"`                          // Limits on the cost of queries. Absent: none.
	Breaker        *Breaker      `yaml:"breaker"`                        // Circuit breaker. Absent: none.
	Fallback       []Fallback    `yaml:"fallback"`                       // Answers to give instead of a refusal, tried in this order.
	Paths          string        `yaml:"paths"`                          // What to do with paths that servers read in different ways: normalise, strict (refuse) or raw.
	Lookalikes     string        `yaml:"lookalikes"`                     // What to do with headers that servers mistake for others, such as X_Forwarded_For: drop or refuse.
}

// Redirect sends callers elsewhere.
type Redirect struct {
	To     string `yaml:"to"`                      // Target, such as https://{host}. Path and query of the request are appended.
	Status int    `yaml:"status" range:"301..308"` // Status code.
}

func (r *Redirect) setDefaults() { *r = Redirect{Status: 308} }

func (r *Redirect) fromWord(word string) error {
	r.setDefaults()
	r.To = word
	return nil
}

func (r Redirect) toWord() (string, bool) { return r.To, r.Status == 308 }

// Works reports whether workers of the route's fleet handle its requests.
func (r *Route) Works() bool { return r.Enqueue == "" && r.Redirect == nil }

// HeaderEdit removes headers and sets others.
type HeaderEdit struct {
	Set    map[string]HeaderValue `yaml:"set"`    // Headers to set, with their values.
	Remove []string               `yaml:"remove"` // Headers to remove.
}

// HeaderValue is the value of a header.
type HeaderValue string

// Match selects requests. All parts that are set must match.
type Match struct {
	// Path is an exact path, or a prefix followed by /*. The prefix form matches all paths
	// below it: /search/* matches /search/ and /search/a/b but not /search.
	Path    string   `yaml:"path"`    // Exact path, or one that ends in /*. /search/* matches /search/ and /search/a/b but not /search.
	Host    string   `yaml:"host"`    // Exact host name, or *.example.com for one or more labels.
	Methods []string `yaml:"methods"` // Methods. Empty: all.
}

// Quarantine says when work is refused and for how long.
type Quarantine struct {
	After   int           `yaml:"after" range:"1..100"`    // Crashes that lead to quarantine.
	Within  time.Duration `yaml:"within" range:"1s..168h"` // Time in which these crashes count.
	For     time.Duration `yaml:"for" range:"1s..168h"`    // First quarantine. It doubles each time.
	Max     time.Duration `yaml:"max" range:"1s..720h"`    // Longest quarantine.
	Strikes int           `yaml:"strikes" range:"1..1000"` // Attempts over their deadline that count as a conviction.
	Off     bool          `yaml:"-"`                       // from quarantine: off

	ReportOnly bool `yaml:"report_only"` // Reports what would be refused, and refuses nothing.
}

// Retry bounds how often work is sent again.
type Retry struct {
	Attempts    int           `yaml:"attempts" range:"1..10"`       // Deliveries of one request, the first included.
	Budget      Ratio         `yaml:"budget" range:"0%..100%"`      // Share of extra load that retries may add to the fleet.
	BudgetFloor int           `yaml:"budget_floor" range:"0..1000"` // Retries per second that are always allowed.
	Replay      Replay        `yaml:"replay"`                       // What may be sent again after its first byte: idempotent methods, all, or none.
	BaseDelay   time.Duration `yaml:"base_delay" range:"0s..1m"`    // Bound of the first wait between two attempts. The bound doubles.
	Cap         time.Duration `yaml:"cap" range:"0s..5m"`           // Upper bound of each wait.
	PerCaller   Ratio         `yaml:"per_caller" range:"0%..100%"`  // Retry budget of each caller, beside the route's. 0%: none.
}

// Replay says which requests may be sent again after their first byte.
type Replay string

// The choices for Retry.Replay.
const (
	ReplayIdempotent Replay = "idempotent" // idempotent methods, and requests with an Idempotency-Key
	ReplayAll        Replay = "all"        // all requests whose body is held completely
	ReplayNone       Replay = "none"       // nothing
)

// MemoryStore is the Store without persistence.
const MemoryStore = "memory:"

// String returns the effective settings as YAML, with secrets masked.
func (c Config) String() string { return string(c.YAML()) }
