package flowapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// Client calls the API of flows. It is safe for concurrent use.
type Client struct{ api *adminapi.Client }

// NewClient returns a client that calls through api.
func NewClient(api *adminapi.Client) *Client { return &Client{api} }

// Close drops idle connections.
func (c *Client) Close() { c.api.Close() }

// Flows lists the flows that can be started.
func (c *Client) Flows(ctx context.Context) ([]Flow, error) {
	out, err := adminapi.Ask[List](ctx, c.api, http.MethodGet, PathFlows, nil, nil, "list flows")
	return out.Flows, err
}

// Runs lists runs, the newest first.
func (c *Client) Runs(ctx context.Context, q RunQuery) ([]Run, error) {
	params := adminapi.Params{"flow": q.Flow, "state": q.State, "backfill": q.Backfill, "before": q.Before, "limit": q.Limit}
	out, err := adminapi.Ask[Runs](ctx, c.api, http.MethodGet, PathRuns, params.Values(), nil, "list runs")
	return out.Runs, err
}

// Run returns a run with its tasks.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	return adminapi.Ask[Run](ctx, c.api, http.MethodGet, adminapi.Path(PathRun, id), nil, nil, "get run %.40q", id)
}

// Instances lists instances: by task, then index.
func (c *Client) Instances(ctx context.Context, run string, q InstanceQuery) ([]Instance, error) {
	params := adminapi.Params{"task": q.Task, "state": q.State, "offset": q.Offset, "limit": q.Limit}
	out, err := adminapi.Ask[Instances](ctx, c.api, http.MethodGet, adminapi.Path(PathInstances, run), params.Values(), nil, "list the tasks of run %.40q", run)
	return out.Instances, err
}

// Attempts lists attempts in the order in which they were made.
func (c *Client) Attempts(ctx context.Context, run string, q AttemptQuery) ([]Attempt, error) {
	params := adminapi.Params{"task": q.Task, "after": q.After, "limit": q.Limit}.Values()
	if q.Index != nil {
		params.Set("index", strconv.Itoa(*q.Index))
	}
	out, err := adminapi.Ask[Attempts](ctx, c.api, http.MethodGet, adminapi.Path(PathAttempts, run), params, nil, "list the attempts of run %.40q", run)
	return out.Attempts, err
}

// Logs returns an attempt's log from offset on.
func (c *Client) Logs(ctx context.Context, run string, token, offset int64, follow bool) (io.ReadCloser, error) {
	q := adminapi.Params{"offset": offset}.Values()
	if follow {
		q.Set("follow", "1")
	}
	body, err := c.api.Open(ctx, adminapi.Path(PathLogs, run, strconv.FormatInt(token, 10)), q)
	if err != nil {
		return nil, fmt.Errorf("read the log of attempt %d: %w", token, err)
	}
	return body, nil
}

func (c *Client) Order(ctx context.Context, run string, o Order) (Ordered, error) {
	return adminapi.Ask[Ordered](ctx, c.api, http.MethodPost, adminapi.Path(PathOrders, run), nil, o, "%s in run %.40q", o.Verb, run)
}

func (c *Client) Start(ctx context.Context, s Start) (Run, error) {
	return adminapi.Ask[Run](ctx, c.api, http.MethodPost, PathRuns, nil, s, "start flow %.100q", s.Flow)
}
