package flowfile

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/cron"
)

// checker collects faults, and finds their places by their paths.
type checker struct {
	f      *file
	faults []config.Fault
}

func (c *checker) add(path, problem, fix string) {
	c.faults = append(c.faults, config.Fault{Path: path, Problem: problem, Fix: fix})
}

// check checks the whole file.
func (c *checker) check(d *flow.Definition) {
	c.schedule()
	c.templates(d)
	names := each.Of(d.Tasks, func(t flow.Task) string { return t.Name })
	for _, err := range parts(d.Validate()) {
		f, ok := errors.AsType[*flow.Fault](err)
		if !ok {
			c.add("", err.Error(), "correct it")
			continue
		}
		c.found(f, d, names)
	}
}

// parts returns the errors joined in err.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}

func (c *checker) found(f *flow.Fault, d *flow.Definition, names []string) {
	path, fix := f.Field, ""
	if f.Task != "" {
		path = config.Path("tasks", f.Task) + "." + f.Field
	}
	problem := f.Text
	switch f.Field {
	case "command": // it may be mistyped
		path = config.Path("tasks", f.Task)
	case "key": // as it is written
		path = strings.TrimSuffix(path, "key") + "concurrency_key"
	case "needs":
		if f.Value == "" {
			if cycle := d.Cycle(); cycle != nil {
				problem, fix = "the tasks need each other in a circle:\n"+Circle(cycle), "remove one of these needs"
			}
			break
		}
		if i := slices.Index(c.f.Tasks[f.Task].Needs, f.Value); i >= 0 {
			path = fmt.Sprintf("%s[%d]", path, i)
		}
		if near := config.Nearest(f.Value, names); near != "" && !slices.Contains(names, f.Value) {
			fix = "did you mean " + near + "?"
		}
	case "pools":
		path = config.Path("pools", f.Value)
	}
	c.add(path, problem, fix)
}

// Circle formats tasks that need each other, as [flow.Definition.Cycle] returns them.
func Circle(cycle []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    ┌─► %s\n", cycle[0])
	for i, name := range cycle[1:] {
		line := "│  "
		if i == len(cycle)-2 {
			line = "└──"
		}
		fmt.Fprintf(&b, "    %s %sneeds %s\n", line, strings.Repeat("  ", min(i+1, 10)), name)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *checker) schedule() {
	s := c.f.Schedule
	if s == (schedule{}) {
		return
	}
	if s.Cron == "" {
		c.add("schedule", "says no time", `add cron: "30 2 * * *"`)
	} else if _, err := cron.Parse(s.Cron); err != nil {
		path := "schedule.cron"
		c.add(path, config.Quoted(s.Cron)+": "+err.Error(), "write minute, hour, day of month, month and day of week")
	}
	if s.Zone != "" {
		if _, err := time.LoadLocation(s.Zone); err != nil || s.Zone == "Local" {
			c.add("schedule.zone", "there is no time zone "+config.Quoted(s.Zone), "write a name such as Europe/Berlin or UTC")
		}
	}
}

func (c *checker) strategy(path, jitter string) backoff.Strategy {
	switch jitter {
	case "", "full":
		return backoff.FullJitter
	case "equal":
		return backoff.EqualJitter
	case "decorrelated":
		return backoff.Decorrelated
	case "none":
		return backoff.Exponential
	}
	fix := "write full, equal, decorrelated or none"
	if near := config.Nearest(jitter, []string{"full", "equal", "decorrelated", "none"}); near != "" {
		fix = "did you mean " + near + "?"
	}
	c.add(path+".retry.jitter", config.Quoted(jitter)+" is not a choice here", fix)
	return backoff.FullJitter
}

func (c *checker) sensor(path string, s *sensor) {
	n := 0
	for _, is := range []bool{len(s.Command) > 0, s.File != "", s.HTTP != "", s.SQL != ""} {
		if is {
			n++
		}
	}
	if n != 1 {
		c.add(path, fmt.Sprintf("waits for %d things", n), "write one of command, file, http and sql")
	}
	if s.SQL != "" && s.DSN == (value{}) {
		c.add(path, "asks no database", "add dsn: {secret: env:NAME}, or a postgres:// or sqlite: URL")
	}
	if s.SQL == "" && s.DSN != (value{}) {
		c.add(path+".dsn", "is for sql", "remove it")
	}
	if s.Mode != "" && s.Mode != "reschedule" {
		c.add(path+".mode", config.Quoted(s.Mode)+" is not a choice here", "write reschedule, or remove it: a sensor holds no slot between two looks")
	}
	if _, err := filepath.Match(s.File, ""); err != nil {
		c.add(path+".file", config.Quoted(s.File)+" is not a pattern", "close its brackets")
	}
	if s.HTTP != "" && !strings.Contains(s.HTTP, "{{") {
		c.url(path+".http", s.HTTP)
	}
}

func (c *checker) url(path, text string) {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		c.add(path, config.Quoted(text)+" is not a URL", "write https://HOST/PATH")
	}
}

func (c *checker) sift(path string, s *sift) {
	if len(s.Command) == 0 {
		c.add(path+".command", "is missing", "add command: [PROGRAM, ARGUMENT]")
	}
	if s.Rows == "" {
		c.add(path+".rows", "is missing", "add rows: FILE")
	}
	if s.Batch < 0 {
		c.add(path+".batch", "is negative", "write the rows of one run, or remove it")
	}
}

func (c *checker) hook(path string, i int, h hook) {
	path = fmt.Sprintf("%s[%d]", path, i)
	n := 0
	for _, is := range []bool{len(h.Command) > 0, h.Webhook != "", h.Mail != ""} {
		if is {
			n++
		}
	}
	if n != 1 {
		c.add(path, fmt.Sprintf("tells %d ways", n), "write one of command, webhook and mail")
		return
	}
	if h.Webhook != "" {
		c.url(path+".webhook", h.Webhook)
	}
	if _, err := mail.ParseAddress(h.Mail); h.Mail != "" && err != nil {
		c.add(path+".mail", config.Quoted(h.Mail)+" is not an address", "write NAME@HOST")
	}
}
