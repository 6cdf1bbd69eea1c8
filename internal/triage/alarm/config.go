package alarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
	"github.com/bezoar-dev/bezoar/queue"
)

// Letters is what alarms watch. A [triage.Service] is one.
type Letters interface {
	Count(ctx context.Context, s queue.Selection) (int64, error)
	Groups(ctx context.Context, s queue.Selection, limit int) ([]queue.Group, error)
	Tasks(ctx context.Context, q triage.TaskQuery) ([]triage.Task, error)
	Marks() queue.Marks
}

// Config sets [Alarms] up.
type Config struct {
	Rules   []Rule // at most MaxRules
	Letters Letters
	Every   time.Duration // how often it looks; default 10 s
	// Environ is what commands inherit, but for what is Bezoar's own
	// (BEZOAR_*, the service manager's socket) and the names in Secrets.
	Environ []string
	Secrets []string
	Now     func() time.Time // default time.Now
	Log     *slog.Logger     // says what could not be told; nil discards it
}

// MaxRules bounds the rules of one process.
const MaxRules = 200

// Kind is what a rule looks at.
type Kind string

// The kinds.
const (
	Depth   Kind = "depth"   // letters there are
	Oldest  Kind = "oldest"  // how long ago the oldest died
	Rate    Kind = "rate"    // letters that died within the last minute
	Redrive Kind = "redrive" // redrives that ended or halted
)

// Rule is one alarm.
type Rule struct {
	Name    string
	Queue   string // the dead-letter queue; "" or "*": all
	Kind    Kind
	Above   int64         // of Depth and Rate: letters
	Age     time.Duration // of Oldest
	Repeat  time.Duration // while it lasts; default 1 h, at least 1 min
	Webhook string        // a URL that is posted to
	Secret  tell.Secret   // signs what is posted; "": unsigned
	Command []string
}

// String says what the rule is about, without the webhook's path and the
// command's arguments, which may hold secrets.
func (r Rule) String() string {
	return fmt.Sprintf("alarm %s: %s of %s above %s, to %s", r.Name, r.Kind, r.queue(), r.limit(), strings.Join(r.to(), " and "))
}

// to is who is told: the webhook's host, the command's program.
func (r Rule) to() []string {
	var to []string
	if u, err := url.Parse(r.Webhook); err == nil && r.Webhook != "" {
		to = append(to, u.Host)
	}
	if len(r.Command) > 0 {
		to = append(to, r.Command[0])
	}
	return to
}

func (r Rule) queue() string {
	if r.Queue == "" {
		return "*"
	}
	return r.Queue
}

func (r Rule) limit() string {
	if r.Kind == Oldest {
		return r.Age.String()
	}
	return fmt.Sprint(r.Above)
}

func (r Rule) selection() queue.Selection {
	if r.Queue == "*" {
		return queue.Selection{}
	}
	return queue.Selection{Queue: r.Queue}
}

func (r Rule) validate() error {
	var errs faults.List
	printable := func(c rune) bool { return c <= ' ' || c > '~' }
	errs.If(len(r.Name) < 1 || len(r.Name) > 100 || strings.ContainsFunc(r.Name, printable), "Name: %.100q is not 1 to 100 printable ASCII characters", r.Name)
	switch r.Kind {
	case Depth, Rate:
		errs.If(r.Above < 0, "Above: %d is negative", r.Above)
	case Oldest:
		errs.If(r.Age <= 0, "Age: %v is not above 0", r.Age)
	case Redrive:
	default:
		errs.Add("Kind: %.40q is none of %s, %s, %s and %s", string(r.Kind), Depth, Oldest, Rate, Redrive)
	}
	errs.If(r.Repeat < time.Minute, "Repeat: %v is less than 1m", r.Repeat)
	errs.If(r.Webhook == "" && len(r.Command) == 0, "Webhook, Command: one of them is required")
	if u, err := url.Parse(r.Webhook); r.Webhook != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs.Add("Webhook: is no http or https URL") // which may hold a secret
	}
	errs.If(len(r.Command) > 0 && strings.TrimSpace(r.Command[0]) == "", "Command[0]: is empty")
	return errors.Join(errs...)
}

func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(c.Letters == nil, "Letters: is missing")
	errs.If(c.Every < 0 || c.Every > time.Hour, "Every: %v is not within 0 to 1h", c.Every)
	errs.If(len(c.Rules) > MaxRules, "Rules: %d are more than %d", len(c.Rules), MaxRules)
	seen := map[string]bool{}
	for i, r := range c.Rules {
		errs.In(r.validate(), "Rules[%d] %q", i, r.Name)
		errs.If(seen[r.Name], "Rules[%d]: Name: %q is there twice", i, r.Name)
		seen[r.Name] = true
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 10*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	rules := make([]Rule, len(c.Rules))
	for i, r := range c.Rules {
		r.Repeat = cmp.Or(r.Repeat, time.Hour)
		rules[i] = r
	}
	c.Rules = rules
	return c
}
