package hints

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// opaqueID is the X-Opaque-Id under which the backend lists the poller's requests.
const opaqueID = "bezoar-hints"

var errTooLarge = errors.New("the answer is larger than MaxAnswer")

// refusal is an error response.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.text) }

// unsupported reports whether the backend lacks or forbids the request, so that repeating
// it would not help.
func unsupported(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status >= 400 && r.status < 500 && r.status != http.StatusTooManyRequests && r.status != http.StatusRequestTimeout
}

// ask sends one request and decodes the response.
func (p *Poller) ask(ctx context.Context, target string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	if err := p.exchange(ctx, target, into); err != nil {
		return fmt.Errorf("GET %s: %w", clip(target), err)
	}
	return nil
}

func (p *Poller) exchange(ctx context.Context, target string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(p.cfg.URL, "/")+target, http.NoBody)
	if err != nil {
		return err
	}
	maps.Copy(r.Header, p.cfg.Header)
	r.Header.Set("X-Opaque-Id", opaqueID)
	r.Header.Set("User-Agent", opaqueID)
	r.Header.Set("Accept", "application/json")
	answer, err := p.cfg.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // only for the error text
		return &refusal{answer.StatusCode, clip(strings.ToValidUTF8(string(text), "?"))}
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, p.cfg.MaxAnswer+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > p.cfg.MaxAnswer {
		return errTooLarge
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// count is a number that some responses contain as text. Null, "" and words become 0, which
// means unknown.
type count float64

func (c *count) UnmarshalJSON(data []byte) error {
	if f, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64); err == nil && f > 0 && !math.IsInf(f, 0) {
		*c = count(f)
	}
	return nil
}

func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
