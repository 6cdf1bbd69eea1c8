package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

const (
	token  = "only-on-a-network-that-nobody-else-has"
	window = 10 * time.Second // of the caller who is limited by one
	poll   = 100 * time.Millisecond
)

// settings are the same file on every node. They differ with n in what nobody
// notices.
func (c Config) settings(store, worker string, n int) []byte {
	return fmt.Appendf(nil, `listen: 0.0.0.0:8080
admin: 0.0.0.0:7070
admin_token_env: BEZOAR_CLUSTER_TOKEN
store: %q
state_dir: state
live: {poll: %s}
plans:
  bucket: {callers: [bucket], limits: [{rate: %d/s, burst: %d, shared: yes}]}
  window: {callers: [window], limits: [{rate: %d/%s, shared: yes}]}
fleets:
  app: {command: [%q, %q, "{port}"], replicas: 4, health: {path: /healthz, interval: 200ms}, max_in_flight: %d}
routes:
  - {match: {path: /*}, fleet: app, client: "header:X-Api-Key", plans: [bucket, window], breaker: on}
  - {match: {path: /held/*}, fleet: app, breaker: on}
`, store, poll, c.Rate, c.Rate, c.Rate*int(window/time.Second), window, worker, workerArg, 64+n)
}

// node is a Bezoar in a namespace of its own.
type node struct {
	name  string
	front string // host:port
	admin string // URL
	http  *http.Client
}

// startNode starts one, and returns when it serves.
func startNode(ctx context.Context, b *peer.Bench, net *network, i int, bezoar string, secret, settings []byte) (*node, error) {
	host := net.address(frontNet, i)
	n := &node{
		name: string(rune('A' + i)), front: host + ":8080", admin: "http://" + host + ":7070",
		http: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	dir := filepath.Join(b.Dir(), n.name)
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o700); err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{"state/secret": secret, "bezoar.yaml": settings} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	child, err := b.Start(proc.Spec{
		Name: "node " + n.name, Dir: dir, Env: []string{"BEZOAR_CLUSTER_TOKEN=" + token},
		Args: []string{"ip", "netns", "exec", net.namespace(i), bezoar, "serve", "-c", "bezoar.yaml"},
	})
	if err != nil {
		return nil, err
	}
	if err := peer.Wait(ctx, child, "http://"+n.front+"/"); err != nil {
		return nil, fmt.Errorf("node %s: %w", n.name, err)
	}
	return n, nil
}

// send sends one request as a caller and returns its status; 0: no answer.
func (n *node) send(ctx context.Context, caller, method, path, body string) int {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.front+path, struct{ io.Reader }{bytes.NewReader([]byte(body))})
	if err != nil {
		return 0
	}
	req.ContentLength = int64(len(body))
	if body == "" {
		req.Body = http.NoBody
	}
	req.Header.Set("X-Api-Key", caller)
	res, err := n.http.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// ask makes a call of the admin API.
func (n *node) ask(ctx context.Context, method, path string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, n.admin+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if in == nil {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Bezoar-Actor", "cluster")
	res, err := n.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s at node %s: %s: %.300s", method, path, n.name, res.Status, body)
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(body, out)
}

// verdict is what a node knows of one piece of work.
type verdict struct {
	ID     string    `json:"id"`
	State  string    `json:"state"`
	Sample string    `json:"sample"`
	Since  time.Time `json:"since"`
}

// convicted says since when a node refuses what was sent to a path.
func (n *node) convicted(ctx context.Context, path string) (since time.Time, ok bool) {
	var out struct {
		Verdicts []verdict `json:"verdicts"`
	}
	if n.ask(ctx, http.MethodGet, "/api/v1/quarantine", nil, &out) != nil {
		return since, false
	}
	for _, v := range out.Verdicts {
		if v.State == "quarantined" && v.Sample == "POST "+path {
			return v.Since, true
		}
	}
	return since, false
}

// runs says which version of the settings runs.
func (n *node) runs(ctx context.Context) int64 {
	var out struct {
		Running struct {
			Number int64 `json:"number"`
		} `json:"running"`
	}
	if n.ask(ctx, http.MethodGet, "/api/v1/settings", nil, &out) != nil {
		return -1
	}
	return out.Running.Number
}

// put makes a version, and returns its number.
func (n *node) put(ctx context.Context, text []byte) (int64, error) {
	var out struct {
		Version struct {
			Number int64 `json:"number"`
		} `json:"version"`
	}
	err := n.ask(ctx, http.MethodPut, "/api/v1/settings", map[string]any{"text": text, "note": "measured"}, &out)
	return out.Version.Number, err
}

const heldBreaker = "app /held/*"

// force orders the breaker to be open or closed.
func (n *node) force(ctx context.Context, state string) error {
	path := "/api/v1/breakers/" + url.PathEscape(heldBreaker) + "/override"
	return n.ask(ctx, http.MethodPut, path, map[string]string{"state": state, "for": "10m"}, nil)
}

// forced says what the breaker is ordered to be.
func (n *node) forced(ctx context.Context) string {
	var out struct {
		Breakers []struct {
			Name   string           `json:"name"`
			State  string           `json:"state"`
			Forced *json.RawMessage `json:"forced"`
		} `json:"breakers"`
	}
	if n.ask(ctx, http.MethodGet, "/api/v1/breakers", nil, &out) != nil {
		return ""
	}
	for _, b := range out.Breakers {
		if b.Name == heldBreaker && b.Forced != nil {
			return b.State
		}
	}
	return ""
}

// until asks again and again, for at most a time.
func until(ctx context.Context, what string, long time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, long, fmt.Errorf("gave up after %v", long))
	defer cancel()
	look := time.NewTicker(4 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("until %s", what), context.Cause(ctx))
		}
	}
	return nil
}
