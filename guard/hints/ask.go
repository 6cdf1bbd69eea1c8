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
	"time"
)

// opaqueID is under whom the backend lists what is asked here.
const opaqueID = "bezoar-hints"

var errTooLarge = errors.New("the answer is larger than MaxAnswer")

// refusal is an answer that is none.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.text) }

// unsupported reports whether a backend refused because it does not have, or
// does not allow, what was asked: asking again would not help.
func unsupported(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status >= 400 && r.status < 500 && r.status != http.StatusTooManyRequests && r.status != http.StatusRequestTimeout
}

// ask sends one request and decodes its answer.
func (p *Poller) ask(ctx context.Context, method, target string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	p.asked++
	began := time.Now()
	err := p.exchange(ctx, method, target, body, into)
	took := time.Since(began)
	p.note(took)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, clip(target), err)
	}
	return nil
}

func (p *Poller) exchange(ctx context.Context, method, target string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(p.cfg.URL, "/")+target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	maps.Copy(r.Header, p.cfg.Header)
	r.Header.Set("X-Opaque-Id", opaqueID)
	r.Header.Set("User-Agent", opaqueID)
	r.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := p.cfg.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // it only explains
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

// note lets the pause follow how fast the backend answers.
func (p *Poller) note(took time.Duration) {
	if took > p.cfg.Slow {
		p.pause = min(2*p.pause, p.cfg.MaxPause)
	} else {
		p.pause = max(p.pause/2, p.cfg.Pause)
	}
}

// count is a number that some answers have as text. Others, null, "" and words
// are not known, and 0.
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
