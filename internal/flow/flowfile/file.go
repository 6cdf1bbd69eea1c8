package flowfile

import (
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// file is a flow in its YAML form.
type file struct {
	Name         string           `yaml:"name"`
	Params       map[string]param `yaml:"params"`
	Env          map[string]value `yaml:"env"`
	Dir          string           `yaml:"dir"`
	Tasks        map[string]task  `yaml:"tasks"`
	Deadline     time.Duration    `yaml:"deadline"`
	MaxRuns      int              `yaml:"max_runs"`
	Schedule     schedule         `yaml:"schedule"`
	OnDeadLetter []hook           `yaml:"on_dead_letter"`
	OnFailure    []hook           `yaml:"on_failure"`
	Pools        map[string]pool  `yaml:"pools"`
	Labels       map[string]label `yaml:"labels"`
	Build        string           `yaml:"build"`
}

// at is a place in the file. The first place wins: an alias sets that of its value later.
type at struct{ line, column int }

func (a *at) SetPlace(line, column int) {
	if a.line == 0 {
		*a = at{line, column}
	}
}

func (a at) before(b at) int {
	if a.line != b.line {
		return a.line - b.line
	}
	return a.column - b.column
}

type param struct {
	at
	Default  string `yaml:"default"`
	Required bool   `yaml:"required"`
	Help     string `yaml:"help"`
}

func (p *param) SetWord(word string) error { p.Default = word; return nil }

func (*param) Keys() (func(string) bool, string) {
	return variable, "use letters, digits and _, and begin with no digit: templates write {{ .params.NAME }}"
}

// variable reports whether s is a valid name of a variable.
func variable(s string) bool {
	return s != "" && len(s) <= flow.MaxName && (s[0] < '0' || s[0] > '9') &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

type value struct {
	Secret string `yaml:"secret"`
	text   string
}

func (v *value) SetWord(word string) error { v.text = word; return nil }

func (*value) Keys() (func(string) bool, string) {
	return variable, "use letters, digits and _, and begin with no digit"
}

type label struct{ text string }

func (l *label) SetWord(word string) error { l.text = word; return nil }

func (*label) Keys() (func(string) bool, string) { return name, nameRule }

type pool struct {
	Slots int `yaml:"slots"`
}

func (p *pool) SetWord(word string) (err error) { p.Slots, err = number(word); return err }

func (*pool) Keys() (func(string) bool, string) { return name, nameRule }

const nameRule = "use 1 to 128 letters, digits, '-', '_' and '.'"

func name(s string) bool {
	return s != "" && len(s) <= flow.MaxName && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

func number(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || word[0] == '+' {
		return 0, config.Wrong(config.Quoted(word)+" is not a whole number", "write digits only")
	}
	return n, nil
}

type task struct {
	at
	Needs          []string         `yaml:"needs"`
	Command        []string         `yaml:"command"`
	Func           string           `yaml:"func"`
	Sensor         *sensor          `yaml:"sensor"`
	Sift           *sift            `yaml:"sift"`
	Each           *items           `yaml:"each"`
	Env            map[string]value `yaml:"env"`
	Stdin          string           `yaml:"stdin"`
	Dir            string           `yaml:"dir"`
	Retry          retry            `yaml:"retry"`
	Timeout        time.Duration    `yaml:"timeout"`
	Grace          time.Duration    `yaml:"grace"`
	Memory         config.Size      `yaml:"memory"`
	Poison         poison           `yaml:"poison"`
	Pool           string           `yaml:"pool"`
	Slots          int              `yaml:"slots"`
	Key            string           `yaml:"concurrency_key"`
	Limit          int              `yaml:"limit"`
	Downstream     string           `yaml:"downstream"`
	RunsOn         []string         `yaml:"runs_on"`
	SideEffect     bool             `yaml:"side_effect"`
	IdempotencyKey string           `yaml:"idempotency_key"`
	PermitFailure  bool             `yaml:"permit_failure"`
}

func (*task) Keys() (func(string) bool, string) { return name, nameRule }

type sensor struct {
	Command []string      `yaml:"command"`
	File    string        `yaml:"file"`
	HTTP    string        `yaml:"http"`
	SQL     string        `yaml:"sql"`
	DSN     value         `yaml:"dsn"`
	Every   time.Duration `yaml:"every"`
	Timeout time.Duration `yaml:"timeout"`
	Mode    string        `yaml:"mode"`
}

type sift struct {
	Command []string `yaml:"command"`
	Rows    string   `yaml:"rows"`
	Batch   int      `yaml:"batch"`
}

type items struct {
	List []string `yaml:"list"`
	Glob string   `yaml:"glob"`
	From string   `yaml:"from"`
}

type retry struct {
	Attempts int           `yaml:"attempts"`
	Base     time.Duration `yaml:"base"`
	Cap      time.Duration `yaml:"cap"`
	Jitter   string        `yaml:"jitter"`
}

func (r *retry) SetWord(word string) (err error) { r.Attempts, err = number(word); return err }

type poison struct {
	After       int `yaml:"after"`
	MinAttempts int `yaml:"min_attempts"`
	Siblings    int `yaml:"siblings"`
	off         bool
}

func (p *poison) SetWord(word string) error {
	if word != "off" && word != "false" && word != "no" {
		return config.Wrong(config.Quoted(word)+" is not a choice here", "write off, or after, min_attempts and siblings")
	}
	p.off = true
	return nil
}

type schedule struct {
	Cron    string        `yaml:"cron"`
	Zone    string        `yaml:"zone"`
	CatchUp time.Duration `yaml:"catch_up"`
}

func (s *schedule) SetWord(word string) error { s.Cron = word; return nil }

type hook struct {
	Command []string `yaml:"command"`
	Webhook string   `yaml:"webhook"`
	Mail    string   `yaml:"mail"`
}
