package flow

import (
	"context"
	"time"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// Bounds of definitions and runs.
const (
	MaxTasks     = 10_000    // tasks of one definition
	MaxInstances = 100_000   // instances of one run
	MaxOutput    = 64 << 10  // bytes of one instance's output
	MaxNeeds     = 1_000     // of one task
	MaxName      = 128       // bytes of a name: letters, digits, '-', '_', '.'
	MaxParams    = 100       // of one definition
	MaxValue     = 16 << 10  // bytes of one parameter
	MaxRow       = 256 << 10 // bytes of one bad row
	MaxRows      = 1_000     // bad rows of one attempt that become letters
	MaxOutputs   = 64 << 20  // bytes of all outputs of one run
	MaxPages     = 100       // failure groups of one run that lead to a page
)

// Definition is a flow: tasks, and the order between them. A run keeps the definition that
// it began with, even if the file changes.
type Definition struct {
	Name         string            `json:"name"`
	Params       []Param           `json:"params,omitempty"`
	Env          map[string]Value  `json:"env,omitempty"`      // for all tasks
	Dir          string            `json:"dir,omitempty"`      // where commands run; default: the file's folder
	Tasks        []Task            `json:"tasks"`              // in the author's order
	Deadline     time.Duration     `json:"deadline,omitempty"` // after the run's due time; 0: none
	MaxRuns      int               `json:"max_runs,omitempty"` // runs at once; default 1 for schedules, else 16
	Schedule     *Schedule         `json:"schedule,omitempty"`
	OnDeadLetter []Hook            `json:"on_dead_letter,omitempty"`
	OnFailure    []Hook            `json:"on_failure,omitempty"` // once, when a run ends FAILED
	Pools        map[string]int    `json:"pools,omitempty"`      // slots by name, shared by all flows of a store
	Labels       map[string]string `json:"labels,omitempty"`     // for people
	Build        string            `json:"build,omitempty"`      // version of the code; only failures of one build count together; default: a hash of the definition
}

// Param is a parameter of a run.
type Param struct {
	Name     string `json:"name"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"` // there is no default
	Help     string `json:"help,omitempty"`
}

// Value is a template or a reference to a secret. A secret is read where the attempt runs,
// when it starts. It is never stored, logged or shown.
type Value struct {
	Text   string `json:"text,omitempty"`
	Secret string `json:"secret,omitempty"` // env:NAME or file:PATH
}

// Task is one node of a flow. Set exactly one of Command, Func, Sensor and Sift.
type Task struct {
	Name    string           `json:"name"`
	Needs   []string         `json:"needs,omitempty"`
	Command []string         `json:"command,omitempty"` // templates; program and arguments, no shell
	Func    string           `json:"func,omitempty"`    // the name of a function of this program; see [Functions]
	Sensor  *Sensor          `json:"sensor,omitempty"`
	Sift    *Sift            `json:"sift,omitempty"`
	Each    *Each            `json:"each,omitempty"` // one instance for each item
	Env     map[string]Value `json:"env,omitempty"`
	Stdin   string           `json:"stdin,omitempty"` // a template
	Dir     string           `json:"dir,omitempty"`

	Retry      Retry         `json:"retry,omitzero"`
	Timeout    time.Duration `json:"timeout,omitempty"` // of one attempt; 0: none
	Grace      time.Duration `json:"grace,omitempty"`   // between SIGTERM and SIGKILL; default 5 s
	Memory     int64         `json:"memory,omitempty"`  // bytes; 0: no limit
	Poison     Poison        `json:"poison,omitzero"`
	Pool       string        `json:"pool,omitempty"`
	Slots      int           `json:"slots,omitempty"`       // of the pool; default 1
	Key        string        `json:"key,omitempty"`         // concurrency key, a template: attempts with the same value share a limit over all runs
	Limit      int           `json:"limit,omitempty"`       // attempts at a time for each Key; default 1
	Downstream string        `json:"downstream,omitempty"`  // group of a breaker
	RunsOn     []string      `json:"runs_on,omitempty"`     // labels that a node needs, all of them
	SideEffect bool          `json:"side_effect,omitempty"` // runs at most once for each idempotency key
	Idempotent string        `json:"idempotency_key,omitempty"`
	Permit     bool          `json:"permit_failure,omitempty"` // tasks that need it run even if it failed
}

// Each gives a task one instance for each item. Set exactly one field.
type Each struct {
	List []string `json:"list,omitempty"` // templates
	Glob string   `json:"glob,omitempty"` // a template; files in byte order
	From string   `json:"from,omitempty"` // a task that this one needs: its output is a JSON array or lines
}

// Retry limits attempts. Attempts that the infrastructure killed, that timed out, or that could not start have their own
// budgets; see package policy/task.
type Retry struct {
	Attempts int            `json:"attempts,omitempty"` // default 3, the first included
	Backoff  backoff.Config `json:"backoff,omitzero"`   // default full jitter between 1 s and 5 min
}

// Poison says when identical failures end the retries.
type Poison struct {
	Off         bool `json:"off,omitempty"`
	After       int  `json:"after,omitempty"`        // identical failures that end the retries; default 2 or 3, by the quality of the fingerprint
	MinAttempts int  `json:"min_attempts,omitempty"` // default 2
	Siblings    int  `json:"siblings,omitempty"`     // dead letters of one cause after which the other instances are held without a run; default 3
}

// Sensor waits for an event outside the flow. It holds no slot between two checks.
type Sensor struct {
	Command []string      `json:"command,omitempty"` // exit code 0: found; 75: not yet; others are failures
	File    string        `json:"file,omitempty"`    // a glob
	HTTP    string        `json:"http,omitempty"`    // a URL that answers with 2xx
	SQL     string        `json:"sql,omitempty"`     // a query that returns a row whose first column is neither null, 0 nor false
	DSN     Value         `json:"dsn,omitzero"`      // for SQL: postgres://… or sqlite:…
	Every   time.Duration `json:"every,omitempty"`   // default 30 s
	Timeout time.Duration `json:"timeout,omitempty"` // from the first look; default 1 h
}

// Sift runs a command over the rows of a file. Rows that make the command fail become dead
// letters; all other rows are processed. See package sift.
type Sift struct {
	Command []string `json:"command"`
	Rows    string   `json:"rows"` // the file, a template
	Batch   int      `json:"batch,omitempty"`
}

// Schedule starts runs by the calendar.
type Schedule struct {
	Cron    string        `json:"cron"`
	Zone    string        `json:"zone,omitempty"`     // IANA name; default UTC
	CatchUp time.Duration `json:"catch_up,omitempty"` // run missed due times that are not older than this; default 0: only the newest
}

// Hook is a receiver of failures. Set exactly one field.
type Hook struct {
	Command []string `json:"command,omitempty"` // gets the document on stdin
	Webhook string   `json:"webhook,omitempty"`
	Mail    string   `json:"mail,omitempty"` // an address
}

// Func is a task in this process. Its context ends at the timeout of the task. A function
// that ignores its context cannot be stopped: it keeps its slot after the timeout, and its
// next attempt waits for it. See the package comment.
type Func func(ctx context.Context, in Input) (output []byte, err error)

// Functions are tasks that are Go functions, by name.
type Functions map[string]Func

// Input is the data of an attempt.
type Input struct {
	Run, Task string
	Index     int
	Item      string
	Attempt   int // from 1
	Due       time.Time
	Params    map[string]string
	Outputs   map[string][][]byte // of the needed tasks, one for each instance
}
