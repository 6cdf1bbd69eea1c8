package config

import (
	"net/netip"
	"time"
)

// Config is everything that Bezoar can be told. The zero value is not useful:
// begin with [Default].
type Config struct {
	Listen         string               `yaml:"listen"`                          // callers, host:port; "" means none
	Listeners      []Listener           `yaml:"listeners"`                       // beside Listen, with the same routes
	Connections    *Connections         `yaml:"connections"`                     // of callers; nil: defaults
	Admin          string               `yaml:"admin"`                           // console, API and metrics, host:port; "" means none
	AdminTokenFile string               `yaml:"admin_token_file"`                // first line is the admin token
	AdminTokenEnv  string               `yaml:"admin_token_env"`                 // environment variable that holds it
	Store          string               `yaml:"store"`                           // sqlite:PATH, postgres://… or memory:
	StoreWait      time.Duration        `yaml:"store_wait" range:"0s..24h"`      // at the start, for a store that does not answer
	StateDir       string               `yaml:"state_dir"`                       // the secret and the journals; default beside Store
	TLS            *TLS                 `yaml:"tls"`                             // of Listen; nil means plain HTTP
	TrustedProxies []netip.Prefix       `yaml:"trusted_proxies"`                 // whose X-Forwarded-* are believed
	BufferTotal    Size                 `yaml:"buffer_total" range:"1MiB..1TiB"` // all held bodies together
	ShutdownDelay  time.Duration        `yaml:"shutdown_delay" range:"0s..10m"`  // from SIGTERM until no more callers are accepted; meanwhile not ready
	Fleets         map[string]Fleet     `yaml:"fleets"`
	Routes         []Route              `yaml:"routes"`      // the most specific match wins: host, then path, then methods
	SQS            string               `yaml:"sqs"`         // SQS-compatible endpoint, host:port; off for none; default none, or DefaultSQS if there are queues
	SQSHosts       []string             `yaml:"sqs_hosts"`   // host names by which clients may call a loopback endpoint
	SQSTLS         *Cert                `yaml:"sqs_tls"`     // of SQS; nil means plain HTTP
	AccessKeys     map[string]AccessKey `yaml:"access_keys"` // of SQS clients; none: signatures are not looked at
	Queues         map[string]Queue     `yaml:"queues"`
	Alarms         map[string]Alarm     `yaml:"alarms"`
	Flows          *Flows               `yaml:"flows"`      // nil: this process has nothing to do with flows
	Plans          map[string]Plan      `yaml:"plans"`      // tiers of callers, for routes that name them
	Node           string               `yaml:"node"`       // tells the processes that share a store apart; default host and process
	Health         Checks               `yaml:"health"`     // of Bezoar itself
	Live           Live                 `yaml:"live"`       // how settings change while it runs
	Callers        *Callers             `yaml:"callers"`    // how operators see them
	AccessLog      *AccessLog           `yaml:"access_log"` // nil: only failures, at level info
	Tracing        *Tracing             `yaml:"tracing"`    // nil: none
}

// Listener is a further place where callers come.
type Listener struct {
	Listen string `yaml:"listen"` // host:port
	Plain  bool   `yaml:"plain"`  // without TLS, although there is tls
}

// Connections bounds callers' connections.
type Connections struct {
	Idle     time.Duration `yaml:"idle" range:"1s..24h"`     // between two requests
	Lifetime time.Duration `yaml:"lifetime" range:"0s..24h"` // the first answer after that is the last one; 0: no end
}

func (c *Connections) setDefaults() { *c = Connections{Idle: 2 * time.Minute} }

// Streams bounds answers that go on, WebSockets included. Both ends are cut then.
type Streams struct {
	Idle  time.Duration `yaml:"idle" range:"0s..24h"`   // while nothing moves; 0: no bound
	Total time.Duration `yaml:"total" range:"0s..168h"` // from the head of the answer on; 0: no bound
}

// TLS names the listener's certificates and keys, all PEM files. Files that change
// are read again.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	More []Cert `yaml:"more"` // for callers who ask for one of their names (SNI)

	Redirect string `yaml:"redirect"` // host:port of plain HTTP, whose callers are sent to HTTPS; "" means none
}

// Cert is a further certificate of a listener.
type Cert struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// Fleet is a set of interchangeable workers: processes that Bezoar starts
// (Command) or servers that run elsewhere (Workers).
type Fleet struct {
	Command      []string          `yaml:"command"`  // {port} stands for the worker's port
	Dir          string            `yaml:"dir"`      // working directory of Command
	Env          map[string]string `yaml:"env"`      // added to the environment of Command
	EnvDrop      []string          `yaml:"env_drop"` // variables that Command does not inherit; * at the end for any end
	EnvKeep      []string          `yaml:"env_keep"` // variables that it inherits nevertheless
	User         string            `yaml:"user"`     // whom Command runs as, NAME or NAME:GROUP; "" means as Bezoar does
	Replicas     int               `yaml:"replicas" range:"1..1024"`
	Workers      []string          `yaml:"workers"`                    // http://host:port, https://host:port or unix:/path; a path is in front of every request's
	TLS          *WorkerTLS        `yaml:"tls"`                        // of Workers with https; nil: as the system trusts
	Resolve      time.Duration     `yaml:"resolve" range:"100ms..24h"` // between lookups of the host names of Workers, ±20 %
	HTTP2        bool              `yaml:"http2"`                      // is what the workers speak, as for gRPC; without it HTTP/1.1
	Health       Health            `yaml:"health"`
	Grace        time.Duration     `yaml:"grace" range:"0s..10m"` // between SIGTERM and SIGKILL
	Drain        time.Duration     `yaml:"drain" range:"0s..1h"`  // for work in flight before SIGTERM
	Bake         Bake              `yaml:"bake"`                  // what a new process has to do before the next worker is replaced
	Memory       Size              `yaml:"memory" range:"4MiB..16TiB"`
	MaxInFlight  int               `yaml:"max_in_flight" range:"1..100000"` // per worker
	AnswerFields int               `yaml:"answer_fields" range:"1..10000"`  // fields in the head of an answer
	LaneShare    Ratio             `yaml:"lane_share" range:"1%..50%"`      // of the workers that may run suspects at the same time; at least one may
	Concurrency  *Concurrency      `yaml:"concurrency"`                     // of the whole fleet; nil: as much as comes
	Shard        *Shard            `yaml:"shard"`                           // nil: every caller may meet every worker
	Balance      Balance           `yaml:"balance"`
	Watchdog     *Watchdog         `yaml:"watchdog"` // nil: none
	Retries      Budget            `yaml:"retries"`  // of all its routes together
	Optional     bool              `yaml:"optional"` // without it callers get less, and Bezoar is ready nevertheless
}

// WorkerTLS says how connections to workers are secured. The files are PEM, and read
// again when they change.
type WorkerTLS struct {
	CA   string `yaml:"ca"`   // authorities of the workers' certificates; "" means those of the system
	Name string `yaml:"name"` // that the certificates must have; "" means the host of the worker
	Cert string `yaml:"cert"` // of Bezoar itself, for workers that ask for one
	Key  string `yaml:"key"`
}

// BasePath is what stands in front of the path of every request to the workers.
func (f *Fleet) BasePath() string {
	for _, w := range f.Workers { // all have the same
		return basePath(w)
	}
	return ""
}

// Health says how a worker proves that it lives.
type Health struct {
	Path       string        `yaml:"path"` // GET, 2xx or 3xx; empty means that the port opens
	GRPC       string        `yaml:"grpc"` // instead of path: a service that grpc.health.v1 calls SERVING, or * for the whole server
	Interval   time.Duration `yaml:"interval" range:"100ms..1h"`
	Timeout    time.Duration `yaml:"timeout" range:"10ms..1m"`
	PanicBelow Ratio         `yaml:"panic_below" range:"0%..100%"` // below it, health is no longer believed
}

// Route says which requests go to which fleet, and on what terms.
type Route struct {
	Match          Match         `yaml:"match"`
	Fleet          string        `yaml:"fleet"`
	Redirect       *Redirect     `yaml:"redirect"` // instead of fleet: callers are sent elsewhere
	Enqueue        string        `yaml:"enqueue"`  // instead of fleet: a queue; callers are answered 202
	Quarantine     Quarantine    `yaml:"quarantine"`
	Retry          Retry         `yaml:"retry"`
	Timeout        time.Duration `yaml:"timeout" range:"1ms..24h"`       // until the answer begins
	Sticky         string        `yaml:"sticky"`                         // header:NAME or cookie:NAME, whose value chooses the worker; "" means that load does
	Streams        *Streams      `yaml:"streams"`                        // nil: no bounds
	HalfClose      bool          `yaml:"half_close"`                     // callers that have finished sending wait for their answer
	Buffer         Size          `yaml:"buffer" range:"0..16MiB"`        // of one body, for fingerprint and replay
	BufferAnswer   Size          `yaml:"buffer_answer" range:"0..64MiB"` // of one answer in memory, and more on the disk, for callers slower than the worker; 0: the worker waits
	MaxBody        Size          `yaml:"max_body" range:"0..1TiB"`       // longer bodies are answered 413; 0: no limit
	StripPrefix    string        `yaml:"strip_prefix"`                   // of the path, for the worker
	RequestHeaders *HeaderEdit   `yaml:"request_headers"`                // for the worker
	AnswerHeaders  *HeaderEdit   `yaml:"answer_headers"`                 // of the worker's answer
	Ignore         []string      `yaml:"ignore"`                         // header:NAME, query:NAME, form:NAME, json:$.a.b
	Headers        []string      `yaml:"headers"`                        // that belong to a request's identity
	Volatile       []string      `yaml:"volatile"`                       // headers that differ in every request, beside the usual ones
	Client         string        `yaml:"client"`                         // header:NAME, jwt:CLAIM or ip; empty: callers are not told apart
	Callers        *RouteCallers `yaml:"callers"`                        // how operators see them
	Limits         []Limit       `yaml:"limits"`                         // for everybody
	Plans          []string      `yaml:"plans"`                          // the first that has the caller applies as well
	Priority       Priority      `yaml:"priority"`
	Guard          *Guard        `yaml:"guard"`      // of queries; nil: none
	Breaker        *Breaker      `yaml:"breaker"`    // nil: none
	Fallback       []Fallback    `yaml:"fallback"`   // tried in this order
	Paths          string        `yaml:"paths"`      // that servers read in different ways: normalise, strict or raw
	Lookalikes     string        `yaml:"lookalikes"` // headers that servers take for others, such as X_Forwarded_For: drop or refuse
}

// Redirect sends callers elsewhere.
type Redirect struct {
	To     string `yaml:"to"` // https://{host}, https://example.com/new; path and query of the request come behind it
	Status int    `yaml:"status" range:"301..308"`
}

func (r *Redirect) setDefaults() { *r = Redirect{Status: 308} }

func (r *Redirect) fromWord(word string) error {
	r.setDefaults()
	r.To = word
	return nil
}

func (r Redirect) toWord() (string, bool) { return r.To, r.Status == 308 }

// Works reports whether workers of the route's fleet do what it matches.
func (r *Route) Works() bool { return r.Enqueue == "" && r.Redirect == nil }

// HeaderEdit removes headers and sets others.
type HeaderEdit struct {
	Set    map[string]HeaderValue `yaml:"set"`
	Remove []string               `yaml:"remove"`
}

// HeaderValue is the value of a header.
type HeaderValue string

// Match picks requests. Every part that is given must hold.
type Match struct {
	// Path is an exact path, or one that ends in /* and takes everything
	// below it: /search/* takes /search/ and /search/a/b but not /search.
	Path    string   `yaml:"path"`
	Host    string   `yaml:"host"`    // exact, or *.example.com for one or more labels
	Methods []string `yaml:"methods"` // empty means all
}

// Quarantine says when work is refused and for how long.
type Quarantine struct {
	After   int           `yaml:"after" range:"1..100"`    // crashes
	Within  time.Duration `yaml:"within" range:"1s..168h"` // the window in which they count
	For     time.Duration `yaml:"for" range:"1s..168h"`    // the first time; doubles with every conviction
	Max     time.Duration `yaml:"max" range:"1s..720h"`    // and ends here
	Strikes int           `yaml:"strikes" range:"1..1000"` // overdue attempts that weigh as a conviction
	Off     bool          `yaml:"-"`                       // written as quarantine: off

	ReportOnly bool `yaml:"report_only"` // decides and tells, and refuses nothing
}

// Retry bounds how often work is sent again.
type Retry struct {
	Attempts    int           `yaml:"attempts" range:"1..10"`       // deliveries, the first included
	Budget      Ratio         `yaml:"budget" range:"0%..100%"`      // of the fleet's load that retries may add
	BudgetFloor int           `yaml:"budget_floor" range:"0..1000"` // retries a second that are always allowed
	Replay      Replay        `yaml:"replay"`
	BaseDelay   time.Duration `yaml:"base_delay" range:"0s..1m"`
	Cap         time.Duration `yaml:"cap" range:"0s..5m"`
	PerCaller   Ratio         `yaml:"per_caller" range:"0%..100%"` // budget of each caller, beside the route's; 0%: none
}

// Replay says which requests may run again after their first byte has left.
type Replay string

// The choices for Retry.Replay.
const (
	ReplayIdempotent Replay = "idempotent" // idempotent methods and requests with an Idempotency-Key
	ReplayAll        Replay = "all"        // everything that is held whole
	ReplayNone       Replay = "none"       // nothing
)

// MemoryStore is the Store that forgets everything at exit.
const MemoryStore = "memory:"

// String returns the effective settings as YAML, secrets masked.
func (c Config) String() string { return string(c.YAML()) }
