package adminapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Config configures a Client.
type Config struct {
	Address string        // host:port or a URL; default DefaultAddress
	Token   string        // bearer token; empty: none
	Actor   string        // name of the actor for the audit log; not verified
	Socket  string        // path of a unix socket, used instead of Address
	Timeout time.Duration // time limit of one call; 0: 30 s; redrives and events are limited by ctx only
}

// String returns the configuration without the token.
func (c Config) String() string { return fmt.Sprintf("admin API at %s", cmp.Or(c.Socket, c.Address)) }

// Client calls the admin API. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	at      string // for display
	token   string
	actor   string
	timeout time.Duration
	http    *http.Client
}

// New returns a Client. It does not connect. Close the Client after use.
func New(c Config) (*Client, error) {
	base, err := baseURL(c.Address)
	if err != nil {
		return nil, err
	}
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	dial := (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	if c.Socket != "" {
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
		}
	}
	t := &http.Transport{
		// The client uses no proxy from the environment: the API is local, and no proxy
		// should see the token.
		DialContext:         dial,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConns:        2,
		IdleConnTimeout:     10 * time.Second,
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		base: base, at: cmp.Or(c.Socket, base.Host), token: c.Token, actor: printable(c.Actor), timeout: c.Timeout,
		http: &http.Client{Transport: t, CheckRedirect: noRedirect},
	}, nil
}

// printable removes characters that are invalid in a header, and cuts long texts.
func printable(actor string) string {
	text := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return -1
		}
		return c
	}, actor)
	return strings.TrimSpace(text[:min(len(text), maxActor)])
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func baseURL(address string) (*url.URL, error) {
	address = cmp.Or(address, DefaultAddress)
	text := address
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("admin address %.100q: %w", address, errors.Unwrap(err))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("admin address %.100q: want host:port or http://host:port", address)
	}
	switch {
	case strings.HasPrefix(u.Host, ":"):
		u.Host = "127.0.0.1" + u.Host
	case u.Port() == "" && text != address: // http://host has a port of its own
		host, port := address, "7070"
		if _, err := strconv.Atoi(address); err == nil {
			host, port = "127.0.0.1", address
		}
		return nil, fmt.Errorf("admin address %.100q has no port — write %.100s", address, net.JoinHostPort(host, port))
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// Verdicts lists suspected and quarantined work; fleet "" means all fleets.
func (c *Client) Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error) {
	out, err := Ask[Verdicts](ctx, c, http.MethodGet, PathQuarantine, Params{"fleet": fleet}.Values(), nil, "list verdicts")
	return out.Verdicts, err
}

// Verdict returns one verdict with its evidence.
func (c *Client) Verdict(ctx context.Context, id string) (bezoar.Verdict, error) {
	return Ask[bezoar.Verdict](ctx, c, http.MethodGet, Path(PathVerdict, id), nil, nil, "get verdict %.40q", id)
}

// Add quarantines work on the operator's decision.
func (c *Client) Add(ctx context.Context, a Add) (bezoar.Verdict, error) {
	return Ask[bezoar.Verdict](ctx, c, http.MethodPost, PathQuarantine, nil, a, "add to quarantine")
}

// Release lifts one verdict.
func (c *Client) Release(ctx context.Context, id string) error {
	err := c.call(ctx, http.MethodDelete, Path(PathVerdict, id), nil, nil, nil)
	return wrap(err, "release %.40q", id)
}

// LetterQuery selects the letters of Letters; the zero value selects the newest page.
type LetterQuery struct {
	Fleet  string
	Limit  int // 1 to MaxLetterLimit; 0: the server's default
	Offset int
}

// Letters lists dead letters, newest first, without their bodies.
func (c *Client) Letters(ctx context.Context, lq LetterQuery) ([]bezoar.Letter, error) {
	q := Params{"fleet": lq.Fleet, "limit": lq.Limit, "offset": lq.Offset}.Values()
	out, err := Ask[Letters](ctx, c, http.MethodGet, PathLetters, q, nil, "list dead letters")
	return out.Letters, err
}

// Letter returns one complete dead letter.
func (c *Client) Letter(ctx context.Context, id string) (bezoar.Letter, error) {
	return Ask[bezoar.Letter](ctx, c, http.MethodGet, Path(PathLetter, id), nil, nil, "get dead letter %.40q", id)
}

// Discard deletes one dead letter.
func (c *Client) Discard(ctx context.Context, id string) error {
	err := c.call(ctx, http.MethodDelete, Path(PathLetter, id), nil, nil, nil)
	return wrap(err, "discard %.40q", id)
}

// Redrive sends one dead letter through the lane and returns its outcome. Only ctx limits
// the wait.
func (c *Client) Redrive(ctx context.Context, id string) (Redriven, error) {
	var out Redriven
	err := c.do(ctx, http.MethodPost, Path(PathRedrive, id), nil, nil, &out)
	return out, wrap(err, "redrive %.40q", id)
}

// Fleets returns the state of every fleet.
func (c *Client) Fleets(ctx context.Context) ([]Fleet, error) {
	out, err := Ask[Fleets](ctx, c, http.MethodGet, PathFleets, nil, nil, "list fleets")
	return out.Fleets, err
}

// Restart starts a rolling restart and does not wait for its end.
func (c *Client) Restart(ctx context.Context, fleet string) (Restarting, error) {
	return Ask[Restarting](ctx, c, http.MethodPost, Path(PathRestart, fleet), nil, nil, "restart fleet %.100q", fleet)
}

// Path replaces the placeholders of a path by escaped segments.
func Path(path string, values ...string) string {
	for _, v := range values {
		head, rest, _ := strings.Cut(path, "{")
		_, tail, _ := strings.Cut(rest, "}")
		path = head + url.PathEscape(v) + tail
	}
	return path
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// Ask makes one call, also of another package's contract. what and args describe the call in errors.
func Ask[T any](ctx context.Context, c *Client, method, path string, q url.Values, in any, what string, args ...any) (out T, err error) {
	err = wrap(c.call(ctx, method, path, q, in, &out), what, args...)
	return out, err
}

// Params are parameters of a call: texts, numbers and yes or no, by their names.
type Params map[string]any

// Values encodes those that are not the zero value of their type.
func (p Params) Values() url.Values {
	q := url.Values{}
	for name, v := range p {
		if !reflect.ValueOf(v).IsZero() {
			q.Set(name, fmt.Sprint(v))
		}
	}
	return q
}

// Open sends a GET request and returns the response body, which the caller must close.
func (c *Client) Open(ctx context.Context, path string, q url.Values) (io.ReadCloser, error) {
	resp, err := c.send(ctx, http.MethodGet, path, q, nil, "*/*")
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (c *Client) call(ctx context.Context, method, path string, q url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.do(ctx, method, path, q, in, out)
}

func (c *Client) do(ctx context.Context, method, path string, q url.Values, in, out any) error {
	resp, err := c.send(ctx, method, path, q, in, "application/json")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := readAll(resp.Body, MaxAnswer)
	if err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		if mediaType(resp) != "application/json" {
			return c.stranger(resp)
		}
		return fmt.Errorf("decode the answer of %d bytes: %w", len(body), err)
	}
	return nil
}

// send returns a 2xx response with its body open, or an error.
func (c *Client) send(ctx context.Context, method, to string, q url.Values, in any, accept string) (*http.Response, error) {
	if path.Clean(to) != to { // names such as .. would lead to another call
		return nil, NewProblem(http.StatusNotFound, CodeNotFound, "there is no object with such a name")
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	target := c.base.String() + to
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.actor != "" {
		req.Header.Set(HeaderActor, c.actor)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &ReachError{Address: c.at, Err: err}
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	p, ok := problemFrom(resp.StatusCode, mediaType(resp), text)
	if !ok {
		return nil, c.stranger(resp)
	}
	return nil, p
}

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// StrangerError means that another server than Bezoar answered.
type StrangerError struct {
	URL    string
	Status int
	Server string // value of its Server header; may be empty
}

// Error names the server that answered.
func (e *StrangerError) Error() string {
	by := ""
	if e.Server != "" {
		by = " by " + e.Server
	}
	return fmt.Sprintf("%s answers, but is not Bezoar: %d %s%s", e.URL, e.Status, http.StatusText(e.Status), by)
}

func (c *Client) stranger(resp *http.Response) error {
	server := printable(resp.Header.Get("Server"))
	return &StrangerError{URL: c.base.String(), Status: resp.StatusCode, Server: server[:min(len(server), 40)]}
}

func readAll(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(b) > limit {
		return nil, fmt.Errorf("the answer is longer than %d bytes", limit)
	}
	return b, nil
}

// ReachError means that the API could not be reached.
type ReachError struct {
	Address string
	Err     error
}

// Error names the address.
func (e *ReachError) Error() string {
	cause := e.Err
	if u, ok := errors.AsType[*url.Error](cause); ok {
		cause = u.Err // without the method and URL
	}
	return fmt.Sprintf("no answer from the admin API at %s: %v", e.Address, cause)
}

// Unwrap returns the cause.
func (e *ReachError) Unwrap() error { return e.Err }
