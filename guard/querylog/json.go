package querylog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// parseLine parses a line that identifies itself.
func parseLine(line []byte, kind guard.Kind) (guard.Record, error) {
	line = bytes.TrimSpace(line)
	if len(line) > MaxEntry {
		return guard.Record{}, fmt.Errorf("read a query: the line is longer than %d bytes", MaxEntry)
	}
	if len(line) == 0 || line[0] != '{' {
		rec, err := guard.ParseRecord(line)
		if err == nil {
			ofKind(&rec, kind)
		}
		return rec, err
	}
	o, err := flatten(line)
	if err != nil {
		return guard.Record{}, fmt.Errorf("read a query: the line is not a complete JSON object: %w", err)
	}
	if text := o.text("log"); text != "" && o.text("stream") != "" { // the format of container logs
		if inner := strings.TrimSpace(text); !strings.HasPrefix(inner, `{"log"`) {
			return parseLine([]byte(inner), kind)
		}
		return guard.Record{}, errNoQuery
	}
	for _, read := range []func(object) (guard.Record, error){postgresObject, accessObject} {
		rec, err := read(o)
		if errors.Is(err, errOther) {
			continue
		}
		if err == nil && rec.Query.Kind == "" {
			ofKind(&rec, kind)
		}
		return rec, err
	}
	for _, key := range []string{"request", "path", "body", "sql", "pattern", "graphql", "kind"} {
		if o[key] != nil {
			return guard.ParseRecord(line)
		}
	}
	return guard.Record{}, errors.New("read a query: the object contains no query: no request, body, sql, pattern or graphql")
}

var errOther = errors.New("another log format")

// ofKind sets the kind of a request of an access log.
func ofKind(rec *guard.Record, kind guard.Kind) {
	if rec.Query.Kind == "" || kind != "" {
		rec.Query.Kind = cmp.Or(kind, guard.Elasticsearch)
	}
}

// object is a flattened JSON object: nested members have names such as a.b.
type object map[string]any

// maxLevels is the maximum depth that flatten descends to.
const maxLevels = 4

func flatten(line []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	o := object{}
	o.add("", m, maxLevels)
	return o, nil
}

func (o object) add(prefix string, m map[string]any, levels int) {
	for k, v := range m {
		o[prefix+k] = v
		if inner, ok := v.(map[string]any); ok && levels > 0 {
			o.add(prefix+k+".", inner, levels-1)
		}
	}
}

// text returns the first of the members that exists, as text. Numbers are converted.
func (o object) text(names ...string) string {
	for _, n := range names {
		switch v := o[n].(type) {
		case string:
			if v != "" && v != "-" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

// duration returns the first of the members that exists, in the given unit.
func (o object) duration(unit time.Duration, names ...string) time.Duration {
	f, err := strconv.ParseFloat(o.text(names...), 64)
	return times(f, unit, err)
}

// times returns f units. It returns 0 for invalid values and for more than a year.
func times(f float64, unit time.Duration, err error) time.Duration {
	const year = 365 * 24 * time.Hour
	if err != nil || !(f > 0) || f*float64(unit) > float64(year) {
		return 0
	}
	return time.Duration(math.Round(f * float64(unit)))
}

// accessObject parses a line of a JSON access log: of nginx with its variable names, of
// Caddy, of Traefik or of Bezoar.
func accessObject(o object) (guard.Record, error) {
	var rec guard.Record
	target := o.text("request_uri", "request.uri", "RequestPath")
	own := o.text("msg") == "request" && o.text("route") != "" && o.text("status") != ""
	switch {
	case own:
		if target = o.text("path"); target == "" {
			return rec, errors.New("read a query: Bezoar's access log contains no paths; let the guard record its queries instead")
		}
	case target == "" && o.text("remote_addr") != "" && strings.Contains(o.text("request"), " /"):
		target = o.text("request")
	case target == "":
		return rec, errOther
	}
	if !strings.Contains(target, " ") {
		target = cmp.Or(o.text("request_method", "request.method", "RequestMethod", "method"), "GET") + " " + target
	}
	q := &rec.Query
	if err := q.SetRequest(target); err != nil {
		return rec, fmt.Errorf("read a query: %w", err)
	}
	q.Body, q.ContentType = []byte(o.text("request_body")), o.text("content_type", "http_content_type")
	rec.Caller.OpaqueID, rec.Caller.User = o.text("http_x_opaque_id", "x_opaque_id"), o.text("remote_user", "ClientUsername", "request.user_id", "user_id")
	q.Caller = cmp.Or(rec.Caller.OpaqueID, rec.Caller.User, o.text("caller", "remote_addr", "request.remote_ip", "ClientHost"))
	rec.Took = o.duration(time.Second, "request_time", "duration")
	if own {
		rec.Took = o.duration(time.Millisecond, "duration_ms")
	}
	if rec.Took == 0 {
		rec.Took = o.duration(time.Nanosecond, "Duration")
	}
	if len(q.Body) == 0 && (q.Method == "POST" || q.Method == "PUT") {
		rec.Partial = guard.NoBody
	}
	return rec, nil
}
