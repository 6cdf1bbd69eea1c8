package flowapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// Client calls the API of flows. It is safe for concurrent use.
type Client struct{ api *adminapi.Client }

// NewClient returns a client that calls through api.
func NewClient(api *adminapi.Client) *Client { return &Client{api} }

// Close drops idle connections.
func (c *Client) Close() { c.api.Close() }

// at fills the placeholders of a path.
func at(path string, values ...string) string {
	for _, v := range values {
		head, rest, _ := strings.Cut(path, "{")
		_, tail, _ := strings.Cut(rest, "}")
		path = head + url.PathEscape(v) + tail
	}
	return path
}

// query omits zero values.
func query(pairs ...any) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" && v != "0" {
			q.Set(pairs[i].(string), v)
		}
	}
	return q
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// Flows lists the flows that can be started.
func (c *Client) Flows(ctx context.Context) ([]Flow, error) {
	var out List
	err := c.api.Call(ctx, http.MethodGet, PathFlows, nil, nil, &out)
	return out.Flows, wrap(err, "list flows")
}

// Runs lists runs, the newest first.
func (c *Client) Runs(ctx context.Context, q RunQuery) ([]Run, error) {
	var out Runs
	err := c.api.Call(ctx, http.MethodGet, PathRuns,
		query("flow", q.Flow, "state", q.State, "backfill", q.Backfill, "before", q.Before, "limit", q.Limit), nil, &out)
	return out.Runs, wrap(err, "list runs")
}

// Run returns a run with its tasks.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	var out Run
	err := c.api.Call(ctx, http.MethodGet, at(PathRun, id), nil, nil, &out)
	return out, wrap(err, "get run %.40q", id)
}

// Instances lists instances: by task, then index.
func (c *Client) Instances(ctx context.Context, run string, q InstanceQuery) ([]Instance, error) {
	var out Instances
	err := c.api.Call(ctx, http.MethodGet, at(PathInstances, run),
		query("task", q.Task, "state", q.State, "offset", q.Offset, "limit", q.Limit), nil, &out)
	return out.Instances, wrap(err, "list the tasks of run %.40q", run)
}

// Attempts lists attempts in the order in which they were made.
func (c *Client) Attempts(ctx context.Context, run string, q AttemptQuery) ([]Attempt, error) {
	var out Attempts
	values := query("task", q.Task, "after", q.After, "limit", q.Limit)
	if q.Index != nil {
		values.Set("index", strconv.Itoa(*q.Index))
	}
	err := c.api.Call(ctx, http.MethodGet, at(PathAttempts, run), values, nil, &out)
	return out.Attempts, wrap(err, "list the attempts of run %.40q", run)
}

// Logs returns an attempt's log from offset on.
func (c *Client) Logs(ctx context.Context, run string, token, offset int64, follow bool) (io.ReadCloser, error) {
	q := query("offset", offset)
	if follow {
		q.Set("follow", "1")
	}
	body, err := c.api.Open(ctx, at(PathLogs, run, strconv.FormatInt(token, 10)), q)
	return body, wrap(err, "read the log of attempt %d", token)
}

// Order stores an order.
func (c *Client) Order(ctx context.Context, run string, o Order) (Ordered, error) {
	var out Ordered
	err := c.api.Call(ctx, http.MethodPost, at(PathOrders, run), nil, o, &out)
	return out, wrap(err, "%s in run %.40q", o.Verb, run)
}

// Start starts a run.
func (c *Client) Start(ctx context.Context, s Start) (Run, error) {
	var out Run
	err := c.api.Call(ctx, http.MethodPost, PathRuns, nil, s, &out)
	return out, wrap(err, "start flow %.100q", s.Flow)
}
