package adminapi

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// Paths of dead letters, of queues and of the gateway. A selection consists of the
// parameters that [SelectionQuery] writes.
const (
	PathDeadGroups  = "/api/v1/dead/groups"             // GET selection, &limit=
	PathDead        = "/api/v1/dead/letters"            // GET selection, &limit= &cursor=
	PathDeadLetter  = "/api/v1/dead/letters/{id}"       // GET
	PathDeadEdit    = "/api/v1/dead/letters/{id}/edit"  // POST
	PathDeadPlans   = "/api/v1/dead/plans"              // POST [Order]
	PathDeadPlan    = "/api/v1/dead/plans/{id}"         // GET
	PathDeadExecute = "/api/v1/dead/plans/{id}/execute" // POST
	PathDeadDo      = "/api/v1/dead/do"                 // POST [Order], with Expect or ids
	PathDeadPardon  = "/api/v1/dead/pardon"             // POST a selection
	PathDeadTasks   = "/api/v1/dead/tasks"              // GET ?live= &limit=
	PathDeadTask    = "/api/v1/dead/tasks/{id}"         // GET, POST [TaskOrder]
	PathDeadExport  = "/api/v1/dead/export"             // GET selection: JSON lines
	PathAudit       = "/api/v1/audit"                   // GET ?before= &limit=
	PathAlarms      = "/api/v1/alarms"                  // GET
)

// HeaderActor is the header with the name of the actor for the audit log: at most 200
// printable characters. The name is not verified.
const HeaderActor = "Bezoar-Actor"

const maxActor = 200

// CodePlanChanged is a Problem's code, 409: the letters differ from the planned ones.
const CodePlanChanged = "plan-changed"

// DeadGroups is a list of failure groups.
type DeadGroups struct {
	Groups []queue.Group `json:"groups"`
}

// DeadLetters is a page of dead letters.
type DeadLetters = triage.Page

// Order is a request for an operation on dead letters.
type Order struct {
	Verb      triage.Verb     `json:"verb"`
	Selection queue.Selection `json:"selection"`
	Options   triage.Options  `json:"options"`
	// Expect is the number of letters that the caller expects. It may be 0 if the selection
	// names the letters by ID.
	Expect int64 `json:"expect,omitempty"`
}

// Pardoned is the number of payloads of the letters whose suspicion was cleared.
type Pardoned struct {
	Payloads int `json:"payloads"`
}

// Tasks is a list of tasks.
type Tasks struct {
	Tasks []triage.Task `json:"tasks"`
}

// TaskOrder is a request to change a task.
type TaskOrder struct {
	Action string `json:"action"`         // one of pause, resume, cancel, rate
	Rate   int    `json:"rate,omitempty"` // letters per second
}

// Audit is a list of audit log entries, newest first.
type Audit struct {
	Entries []queue.AuditEntry `json:"entries"`
}

// Alarm is the state of an alarm, as seen by the process that answers.
type Alarm struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`  // one of depth, oldest, rate, redrive
	Queue   string    `json:"queue"` // dead-letter queue; * for all
	To      []string  `json:"to"`    // receivers: the host of a webhook, the program of a command
	Firing  bool      `json:"firing"`
	Since   time.Time `json:"since,omitzero"` // when it began to fire, or stopped
	Value   float64   `json:"value"`          // result of the last check: letters, or seconds
	Limit   float64   `json:"limit"`
	Looked  time.Time `json:"looked,omitzero"`   // time of the last successful check
	ToldAt  time.Time `json:"told_at,omitzero"`  // time of the last notification
	Told    int64     `json:"told"`              // notifications that this process sent
	Untold  int64     `json:"untold"`            // notifications that this process could not send
	Failure string    `json:"failure,omitempty"` // reason of the last failed notification or check
}

// Alarms is the list of alarms, by name.
type Alarms struct {
	Alarms []Alarm `json:"alarms"`
}

// SelectionQuery writes a selection as URL parameters.
func SelectionQuery(s queue.Selection) url.Values {
	q := Params{"queue": s.Queue, "origin": s.Origin, "class": s.Class, "body": s.Body, "reason": s.Reason}.Values()
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		q.Add("attribute", name+"="+s.Attributes[name])
	}
	for _, g := range s.Groups {
		q.Add("group", g)
	}
	for _, id := range s.IDs {
		q.Add("id", id)
	}
	if !s.After.IsZero() {
		q.Set("after", s.After.UTC().Format(time.RFC3339Nano))
	}
	if !s.Before.IsZero() {
		q.Set("before", s.Before.UTC().Format(time.RFC3339Nano))
	}
	return q
}

// DeadGroups groups dead letters by failure group.
func (c *Client) DeadGroups(ctx context.Context, s queue.Selection, limit int) ([]queue.Group, error) {
	q := SelectionQuery(s)
	maps.Copy(q, Params{"limit": limit}.Values())
	out, err := Ask[DeadGroups](ctx, c, http.MethodGet, PathDeadGroups, q, nil, "group dead letters")
	return out.Groups, err
}

// Dead lists dead letters without their bodies, newest first.
func (c *Client) Dead(ctx context.Context, s queue.Selection, cursor string, limit int) (DeadLetters, error) {
	q := SelectionQuery(s)
	maps.Copy(q, Params{"limit": limit, "cursor": cursor}.Values())
	return Ask[DeadLetters](ctx, c, http.MethodGet, PathDead, q, nil, "list dead letters")
}

// DeadLetter returns one complete dead letter.
func (c *Client) DeadLetter(ctx context.Context, id string) (triage.Letter, error) {
	return Ask[triage.Letter](ctx, c, http.MethodGet, Path(PathDeadLetter, id), nil, nil, "get dead letter %.40q", id)
}

// Edit sends a changed letter back to its origin.
func (c *Client) Edit(ctx context.Context, id string, e triage.Edit) (triage.Edited, error) {
	return Ask[triage.Edited](ctx, c, http.MethodPost, Path(PathDeadEdit, id), nil, e, "edit dead letter %.40q", id)
}

// Plan returns what an order would do, and stores the plan.
func (c *Client) Plan(ctx context.Context, o Order) (triage.Plan, error) {
	return Ask[triage.Plan](ctx, c, http.MethodPost, PathDeadPlans, nil, o, "plan")
}

// Execute executes a plan.
func (c *Client) Execute(ctx context.Context, plan string) ([]triage.Task, error) {
	out, err := Ask[Tasks](ctx, c, http.MethodPost, Path(PathDeadExecute, plan), nil, nil, "execute plan %.40q", plan)
	return out.Tasks, err
}

// Do plans and executes an order at once.
func (c *Client) Do(ctx context.Context, o Order) ([]triage.Task, error) {
	out, err := Ask[Tasks](ctx, c, http.MethodPost, PathDeadDo, nil, o, "%s dead letters", o.Verb)
	return out.Tasks, err
}

// PardonLetters clears the suspicion against the payloads of dead letters in the queues of
// origin. It returns the number of payloads.
func (c *Client) PardonLetters(ctx context.Context, s queue.Selection) (int, error) {
	out, err := Ask[Pardoned](ctx, c, http.MethodPost, PathDeadPardon, nil, s, "pardon the payloads of dead letters")
	return out.Payloads, err
}

// Tasks lists tasks, newest first.
func (c *Client) Tasks(ctx context.Context, live bool, limit int) ([]triage.Task, error) {
	out, err := Ask[Tasks](ctx, c, http.MethodGet, PathDeadTasks, Params{"live": live, "limit": limit}.Values(), nil, "list tasks")
	return out.Tasks, err
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, id string) (triage.Task, error) {
	return Ask[triage.Task](ctx, c, http.MethodGet, Path(PathDeadTask, id), nil, nil, "show task %.40q", id)
}

// ChangeTask pauses, resumes, cancels or slows a task.
func (c *Client) ChangeTask(ctx context.Context, id string, o TaskOrder) (triage.Task, error) {
	return Ask[triage.Task](ctx, c, http.MethodPost, Path(PathDeadTask, id), nil, o, "%s task %.40q", o.Action, id)
}

// Export writes dead letters to w as JSON lines. Only ctx limits its duration.
func (c *Client) Export(ctx context.Context, s queue.Selection, w io.Writer) error {
	resp, err := c.send(ctx, http.MethodGet, PathDeadExport, SelectionQuery(s), nil, "application/x-ndjson")
	if err != nil {
		return wrap(err, "export dead letters")
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return wrap(err, "export dead letters")
}

// Alarms returns the state of the alarms about dead letters.
func (c *Client) Alarms(ctx context.Context) ([]Alarm, error) {
	out, err := Ask[Alarms](ctx, c, http.MethodGet, PathAlarms, nil, nil, "list alarms")
	return out.Alarms, err
}

// Audit lists audit log entries, newest first, with numbers below before (0: all).
func (c *Client) Audit(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error) {
	out, err := Ask[Audit](ctx, c, http.MethodGet, PathAudit, Params{"before": before, "limit": limit}.Values(), nil, "read the audit log")
	return out.Entries, err
}
