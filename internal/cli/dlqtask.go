package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

type dlqTasks struct {
	remote
	Live  bool `help:"Only tasks that have not ended."`
	Limit int  `default:"20" placeholder:"N" help:"At most this many, up to 1000 (default ${default})."`
}

func (c *dlqTasks) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > triage.MaxLetters {
		return exitf(exitUsage, "--limit is %d, want 1 to %d", c.Limit, triage.MaxLetters)
	}
	tasks, err := api.Tasks(s, c.Live, c.Limit)
	return s.list(adminapi.Tasks{Tasks: tasks}, len(tasks), err, listing{
		none: "no tasks",
		head: []string{"ID", "DOES", "STATE", ">MOVED", ">OF", ">WORKED", ">FAILED AGAIN", "STARTED", "FROM", "REASON"},
		row: func(now time.Time, i int) []cell {
			k := tasks[i]
			why := k.Reason
			switch {
			case k.Failure != "":
				why = k.Failure
			case k.Waits != "":
				why = "waits for " + k.Waits
			}
			return []cell{
				plain(k.ID), plain(string(k.Verb)), plain(string(k.State)), number(k.Moved), number(k.Planned), number(k.Succeeded), number(k.FailedAgain),
				plain(ago(now, k.Started)), plain(k.Source), plain(why),
			}
		},
	})
}

type dlqTask struct {
	remote
	ID     string        `arg:"" help:"The task's ID."`
	Action string        `arg:"" optional:"" default:"show" enum:"show,watch,pause,resume,cancel,rate" help:"show, watch, pause, resume, cancel or rate (default ${default})."`
	Rate   int           `placeholder:"N" help:"With rate: letters per second."`
	Wait   time.Duration `default:"24h" placeholder:"TIME" help:"With watch: stop after this long (default ${default})."`
}

func (c *dlqTask) Run(s *session, api *adminapi.Client) error {
	var t triage.Task
	var err error
	switch c.Action {
	case "show":
		t, err = api.Task(s, c.ID)
	case "watch":
		t, err = watch(s, api, triage.Task{ID: c.ID}, c.Wait)
	default:
		t, err = api.ChangeTask(s, c.ID, adminapi.TaskOrder{Action: c.Action, Rate: c.Rate})
	}
	err = s.show(t, err, func() {
		s.out.printf("%s\n", taskLine(t))
		if t.Left > 0 {
			s.out.printf("about %s left\n", span(t.Left))
		}
		if t.Waits != "" {
			s.out.printf("waits for %s\n", clean(t.Waits))
		}
		if t.Arrivals > 0 {
			s.out.printf("%s like these died since it started\n", count(t.Arrivals, "letter", "letters"))
		}
	})
	if err == nil && c.Action == "watch" && !s.json {
		return tasksError(t.Verb, []triage.Task{t})
	}
	return err
}

// watchEvery is how often a watched task is read.
const watchEvery = 300 * time.Millisecond

// watch follows a task until it is over or halts, and shows its progress.
func watch(s *session, api *adminapi.Client, last triage.Task, patience time.Duration) (triage.Task, error) {
	ctx, cancel := context.WithTimeout(s, patience)
	defer cancel()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	show, shown := newLongWork(s), ""
	defer show.clear()
	for {
		t, err := api.Task(ctx, last.ID)
		if err != nil && last.State != "" && ctx.Err() != nil && s.Err() == nil {
			return last, stillRunning(last, patience)
		}
		if err != nil {
			return t, err
		}
		last = t
		if t.Over() || t.State == queue.MoveHalted || t.State == queue.MovePaused {
			return t, nil
		}
		if line := taskLine(t); show.width != nil {
			show.tell(int64(t.Moved), int64(t.Planned), func() string { return line })
		} else if line != shown && !s.json {
			s.say("%s", line)
			shown = line
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if s.Err() != nil {
				return t, s.Err()
			}
			return t, stillRunning(t, patience)
		}
	}
}

// stillRunning describes a task that has not ended in time.
func stillRunning(t triage.Task, patience time.Duration) error {
	text := fmt.Sprintf("task %s is still %s after %v: %d of %d moved", t.ID, t.State, patience, t.Moved, t.Planned)
	if t.Waits != "" {
		text += "; it waits for " + t.Waits
	}
	return hinted(exitf(exitTimedOut, "%s", clean(text)), "bezoar dlq task %s watch", t.ID)
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

type dlqExport struct {
	remote
	picked
}

func (c *dlqExport) Run(s *session, api *adminapi.Client) error {
	sel, err := c.selection(s, api)
	if err != nil {
		return err
	}
	out := &counter{w: s.Stdout}
	if err := api.Export(s, sel, out); err != nil || out.n > 0 {
		return err
	}
	return c.unknown(s, api)
}
