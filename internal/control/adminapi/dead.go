package adminapi

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// The paths of dead letters, those of queues and those of the gateway. A
// selection is given by the parameters that [SelectionQuery] writes.
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
	PathDeadExport  = "/api/v1/dead/export"             // GET selection: lines of JSON
	PathAudit       = "/api/v1/audit"                   // GET ?before= &limit=
	PathAlarms      = "/api/v1/alarms"                  // GET
)

// HeaderActor says who acts, for the audit log: at most 200 printable
// characters. It proves nothing.
const HeaderActor = "Bezoar-Actor"

const maxActor = 200

// CodePlanChanged is a Problem's code, 409: the letters are not those that were
// planned.
const CodePlanChanged = "plan-changed"

// DeadGroups answers GET [PathDeadGroups].
type DeadGroups struct {
	Groups []queue.Group `json:"groups"`
}

// DeadLetters answers GET [PathDead].
type DeadLetters = triage.Page

// Order asks for something to be done with dead letters.
type Order struct {
	Verb      triage.Verb     `json:"verb"`
	Selection queue.Selection `json:"selection"`
	Options   triage.Options  `json:"options"`
	// Expect is how many letters the caller means; 0 with ids in the
	// selection: those.
	Expect int64 `json:"expect,omitempty"`
}

// Pardoned answers POST [PathDeadPardon]: how many payloads of the letters are
// no longer held against their copies.
type Pardoned struct {
	Payloads int `json:"payloads"`
}

// Tasks answers what starts or lists tasks.
type Tasks struct {
	Tasks []triage.Task `json:"tasks"`
}

// TaskOrder changes a task.
type TaskOrder struct {
	Action string `json:"action"`         // pause, resume, cancel or rate
	Rate   int    `json:"rate,omitempty"` // letters a second
}

// Audit answers GET [PathAudit], the newest first.
type Audit struct {
	Entries []queue.AuditEntry `json:"entries"`
}

// Alarm is where one alarm stands, as the process that answers sees it.
type Alarm struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"`  // depth, oldest, rate or redrive
	Queue   string    `json:"queue"` // the dead-letter queue; * for all
	To      []string  `json:"to"`    // who is told: a webhook's host, a command's program
	Firing  bool      `json:"firing"`
	Since   time.Time `json:"since,omitzero"` // when it began to fire, or ceased
	Value   float64   `json:"value"`          // at the last look: letters, or seconds
	Limit   float64   `json:"limit"`
	Looked  time.Time `json:"looked,omitzero"`   // when the last look succeeded
	ToldAt  time.Time `json:"told_at,omitzero"`  // when somebody was told last
	Told    int64     `json:"told"`              // how often this process told somebody
	Untold  int64     `json:"untold"`            // how often it could not
	Failure string    `json:"failure,omitempty"` // why not, or why the last look failed
}

// Alarms answers GET [PathAlarms], by name.
type Alarms struct {
	Alarms []Alarm `json:"alarms"`
}

// SelectionQuery writes a selection as parameters.
func SelectionQuery(s queue.Selection) url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("queue", s.Queue)
	set("origin", s.Origin)
	set("class", s.Class)
	set("body", s.Body)
	set("reason", s.Reason)
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

// DeadGroups groups dead letters by what failed.
func (c *Client) DeadGroups(ctx context.Context, s queue.Selection, limit int) ([]queue.Group, error) {
	q := SelectionQuery(s)
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	out, err := ask[DeadGroups](ctx, c, http.MethodGet, PathDeadGroups, q, nil, "group dead letters")
	return out.Groups, err
}

// Dead lists dead letters without their bodies, the newest first.
func (c *Client) Dead(ctx context.Context, s queue.Selection, cursor string, limit int) (DeadLetters, error) {
	q := SelectionQuery(s)
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return ask[DeadLetters](ctx, c, http.MethodGet, PathDead, q, nil, "list dead letters")
}

// DeadLetter returns one dead letter whole.
func (c *Client) DeadLetter(ctx context.Context, id string) (triage.Letter, error) {
	return ask[triage.Letter](ctx, c, http.MethodGet, fill(PathDeadLetter, id), nil, nil, "get dead letter %.40q", id)
}

// Edit sends a changed letter back.
func (c *Client) Edit(ctx context.Context, id string, e triage.Edit) (triage.Edited, error) {
	return ask[triage.Edited](ctx, c, http.MethodPost, fill(PathDeadEdit, id), nil, e, "edit dead letter %.40q", id)
}

// Plan says what an order would do, and keeps it.
func (c *Client) Plan(ctx context.Context, o Order) (triage.Plan, error) {
	return ask[triage.Plan](ctx, c, http.MethodPost, PathDeadPlans, nil, o, "plan")
}

// Execute does what was planned.
func (c *Client) Execute(ctx context.Context, plan string) ([]triage.Task, error) {
	out, err := ask[Tasks](ctx, c, http.MethodPost, fill(PathDeadExecute, plan), nil, nil, "execute plan %.40q", plan)
	return out.Tasks, err
}

// Do plans and executes at once.
func (c *Client) Do(ctx context.Context, o Order) ([]triage.Task, error) {
	out, err := ask[Tasks](ctx, c, http.MethodPost, PathDeadDo, nil, o, "%s dead letters", o.Verb)
	return out.Tasks, err
}

// PardonLetters forgets what is held against the payloads of dead letters, in
// the queues that they came from, and returns how many payloads that were.
func (c *Client) PardonLetters(ctx context.Context, s queue.Selection) (int, error) {
	out, err := ask[Pardoned](ctx, c, http.MethodPost, PathDeadPardon, nil, s, "pardon the payloads of dead letters")
	return out.Payloads, err
}

// Tasks lists tasks, the newest first.
func (c *Client) Tasks(ctx context.Context, live bool, limit int) ([]triage.Task, error) {
	q := url.Values{}
	if live {
		q.Set("live", "true")
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	out, err := ask[Tasks](ctx, c, http.MethodGet, PathDeadTasks, q, nil, "list tasks")
	return out.Tasks, err
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, id string) (triage.Task, error) {
	return ask[triage.Task](ctx, c, http.MethodGet, fill(PathDeadTask, id), nil, nil, "show task %.40q", id)
}

// ChangeTask pauses, resumes, cancels or slows a task.
func (c *Client) ChangeTask(ctx context.Context, id string, o TaskOrder) (triage.Task, error) {
	return ask[triage.Task](ctx, c, http.MethodPost, fill(PathDeadTask, id), nil, o, "%s task %.40q", o.Action, id)
}

// Export copies dead letters to w, a JSON document a line, as long as ctx
// allows.
func (c *Client) Export(ctx context.Context, s queue.Selection, w io.Writer) error {
	resp, err := c.send(ctx, http.MethodGet, PathDeadExport, SelectionQuery(s), nil, "application/x-ndjson")
	if err != nil {
		return wrap(err, "export dead letters")
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return wrap(err, "export dead letters")
}

// Alarms says where the alarms about dead letters stand.
func (c *Client) Alarms(ctx context.Context) ([]Alarm, error) {
	out, err := ask[Alarms](ctx, c, http.MethodGet, PathAlarms, nil, nil, "list alarms")
	return out.Alarms, err
}

// Audit lists what was done, the newest first, from below the entry number
// before (0: all).
func (c *Client) Audit(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error) {
	q := url.Values{}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	out, err := ask[Audit](ctx, c, http.MethodGet, PathAudit, q, nil, "read the audit log")
	return out.Entries, err
}
