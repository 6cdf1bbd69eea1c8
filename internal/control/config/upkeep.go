package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

// Balance says which healthy workers get how much traffic.
type Balance struct {
	SlowStart time.Duration  `yaml:"slow_start" range:"0s..1h"` // Time over which a new worker's share of the traffic grows. 0s: it gets its whole share at once.
	Eject     Eject          `yaml:"eject"`                     // Takes out workers that fail more often than the others, for a while.
	Weights   map[string]int `yaml:"weights"`                   // Weight of each worker, written as in workers: 0 to 1000. Others have 1.
}

// Eject takes workers out for a while if they fail more than the others.
type Eject struct {
	Consecutive int           `yaml:"consecutive" range:"1..1000"` // Failures in a row that take a worker out.
	Ratio       Ratio         `yaml:"ratio" range:"1%..100%"`      // Share of failures above the others' that takes a worker out.
	For         time.Duration `yaml:"for" range:"1s..1h"`          // First time that a worker stays out. It grows.
	MaxShare    Ratio         `yaml:"max_share" range:"1%..50%"`   // Share of the fleet that may be out.
	Off         bool          `yaml:"-"`
}

func (e *Eject) fromWord(word string) error { return switchOff(&e.Off, word, "consecutive: 5") }

func (e Eject) toWord() (string, bool) { return "off", e.Off }

// Bake is the test of a new process in a rolling restart. Either condition is enough.
type Bake struct {
	Requests int           `yaml:"requests" range:"0..1000000"` // Requests that the new process must answer. 0: only time counts.
	Time     time.Duration `yaml:"time" range:"0s..1h"`         // Time that the new process must be up and healthy. 0s: being ready is enough.
}

// Watchdog restarts workers that are about to fail, one at a time.
type Watchdog struct {
	Memory      Size          `yaml:"memory" range:"0..16TiB"`      // Restarts a worker above this resident memory. 0: not used.
	Growth      Size          `yaml:"growth" range:"0..16TiB"`      // Restarts a worker whose resident memory grows by more than this in an hour. 0: not used.
	Descriptors Ratio         `yaml:"descriptors" range:"0%..100%"` // Restarts a worker above this share of its limit on open files. 0%: not used.
	Threads     int           `yaml:"threads" range:"0..1000000"`   // Restarts a worker above this number of threads. 0: not used.
	For         time.Duration `yaml:"for" range:"1s..24h"`          // How long the condition must last.
	Share       Ratio         `yaml:"share" range:"1%..50%"`        // Share of the fleet that may restart at the same time.
	MinUptime   time.Duration `yaml:"min_uptime" range:"0s..24h"`   // Shortest time between two restarts of one worker.
	PerHour     int           `yaml:"per_hour" range:"1..1000"`     // Most restarts per hour. Beyond that the watchdog waits and alarms. It stops if half of the restarts did not help.
}

func (w *Watchdog) setDefaults() {
	*w = Watchdog{Descriptors: 0.9, For: 30 * time.Second, Share: 0.25, MinUptime: 2 * time.Minute, PerHour: 6}
}

// Budget bounds the extra load of retries.
type Budget struct {
	Ratio Ratio `yaml:"ratio" range:"0%..100%"` // Share of the first attempts that retries may add.
	Floor int   `yaml:"floor" range:"0..1000"`  // Retries per second that are always allowed.
}

// Checks are the thresholds of Bezoar's own health. Above a threshold Bezoar is degraded.
// Above the middle between the threshold and 100 % it is not ready. CPU and Disk only
// degrade.
type Checks struct {
	Memory      Ratio `yaml:"memory" range:"0%..100%"`      // Unhealthy above this share of the memory of the machine or the control group. 0%: not used.
	Disk        Ratio `yaml:"disk" range:"0%..100%"`        // Unhealthy above this share of the disks of the store and the state directory. 0%: not used.
	Descriptors Ratio `yaml:"descriptors" range:"0%..100%"` // Unhealthy above this share of the limit on open files. 0%: not used.
	CPU         Ratio `yaml:"cpu" range:"0%..100%"`         // Unhealthy above this share of time in which work waits for a processor. 0%: not used.
}

// Live says how settings follow the file and the store while Bezoar runs.
type Live struct {
	Watch bool          `yaml:"watch"`                 // Reads the file again when it changes.
	Share bool          `yaml:"share"`                 // Shares settings with the other nodes of the store.
	Poll  time.Duration `yaml:"poll" range:"20ms..1m"` // Time between two looks at the store for new settings.
}

// AccessLog says which requests are logged.
type AccessLog struct {
	Sample Ratio  `yaml:"sample" range:"0%..100%"` // Share of the good requests that are logged.
	Errors int    `yaml:"errors" range:"0..10000"` // Most failures and refusals that are logged per second.
	Caller string `yaml:"caller"`                  // How the caller is written: hash, clear or off.
	Format string `yaml:"format"`                  // log: among the other log lines. json or combined: lines of their own.
	File   string `yaml:"file"`                    // File for the formats json and combined. Empty: standard output.
	Paths  bool   `yaml:"paths"`                   // Logs paths, never queries.
}

func (a *AccessLog) setDefaults() {
	*a = AccessLog{Sample: 0.01, Errors: 50, Caller: "hash", Format: "log"}
}

// Tracing sends spans to an OpenTelemetry collector.
type Tracing struct {
	Endpoint string `yaml:"endpoint"`                // OTLP over HTTP, such as http://127.0.0.1:4318.
	Sample   Ratio  `yaml:"sample" range:"0%..100%"` // Share of the requests that are traced, if the caller has not decided.
}

func (t *Tracing) setDefaults() { *t = Tracing{Sample: 0.01} }

func (c *Config) checkUpkeep(k *checker) {
	if a := c.AccessLog; a != nil {
		k.add("access_log.caller", choiceFlaw(a.Caller, []string{"hash", "clear", "off"}))
		k.add("access_log.format", choiceFlaw(a.Format, []string{"log", "json", "combined"}))
		k.when(a.File != "" && a.Format == "log", "access_log.file", "write format: json or combined", "needs a format of its own lines")
	}
	if t := c.Tracing; t != nil {
		if u, err := url.Parse(t.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			k.addf("tracing.endpoint", "write http://host:4318", "%s is not a URL of a collector", quoted(redact.Text(t.Endpoint, redact.Secret)))
		}
	}
	k.when(c.Node != "" && !nodeName(c.Node), "node", "use up to 64 letters, digits, -, _ and .", "%s is not a name", quoted(c.Node))
}

func nodeName(s string) bool { return len(s) <= 64 && keyName.MatchString(s) }

// named reports whether a worker is given by a host name, which may resolve to any number
// of addresses.
func (f *Fleet) named() bool {
	return slices.ContainsFunc(f.Workers, func(w string) bool {
		u, err := url.Parse(w)
		if err != nil {
			return false
		}
		_, err = netip.ParseAddr(u.Hostname())
		return err != nil && u.Hostname() != "localhost"
	})
}

func (f *Fleet) checkProtection(k *checker, at string) {
	if n := f.Concurrency; n != nil && n.Limit == 0 && n.Min > n.Max {
		k.add(at+".concurrency.min", flawf("lower it, or raise max", "%d is more than max, %d", n.Min, n.Max), at+".concurrency.max")
	}
	if s := f.Shard; s != nil {
		k.add(at+".shard.overflow", choiceFlaw(s.Overflow, []string{"never", "down", "busy"}))
		size := max(f.Replicas, len(f.Workers))
		switch {
		case s.Size > 0 && s.Cells > 0:
			k.addf(at+".shard", "keep size for shuffle shards, or cells for fixed ones", "has both size and cells")
		case !f.named() && (s.Size > size || s.Cells > size):
			k.addf(at+".shard", fmt.Sprintf("write %d or less", size), "asks for more workers than the fleet has, %d", size)
		}
	}
	k.when(f.Watchdog != nil && len(f.Workers) > 0, at+".watchdog", "remove it", "applies to workers that Bezoar starts, and these run elsewhere")
}
