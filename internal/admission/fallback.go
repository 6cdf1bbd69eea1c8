package admission

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

// These fields mark answers that do not come from the route's workers. Their values begin with the kind of the fallback and
// the cause.
const (
	FallbackField = "X-Bezoar-Fallback" // "static; on=open"
	DegradedField = "X-Bezoar-Degraded" // "open": the answer is empty, because the route is Optional
)

// The kinds of fallbacks, as the record of a request names them.
const (
	KindStatic   = "static"
	KindStale    = "stale"
	KindOther    = "other"
	KindDegraded = "degraded"
)

// Fallback holds what fallbacks of all fronts share: the answer if no worker can be asked. Exactly one of Static, Stale and
// Other is set.
type Fallback struct {
	On     []FallbackCause // empty: all
	Static *Static         // always the same
	Stale  *Stale          // the last good answer to the same GET
	Other  bool            // the front answers in another way
}

// Static is an answer that is always the same.
type Static struct {
	Status int // default 200
	Header http.Header
	Body   []byte
}

// Stale answers with the last good answer in the route's cache.
type Stale struct {
	MaxAge time.Duration // 0: as old as the answer itself allows
}

func (f *Fallback) fault(other string) error {
	n := 0
	for _, is := range []bool{f.Static != nil, f.Stale != nil, f.Other} {
		if is {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf(" has %d answers, want one of Static, Stale and %s", n, other)
	}
	for _, on := range f.On {
		if !slices.Contains(fallbackCauses(), on) {
			return fmt.Errorf(".On has %q, want open, shed or unavailable", on)
		}
	}
	if f.Stale != nil && f.Stale.MaxAge < 0 {
		return errors.New(".Stale.MaxAge is negative")
	}
	if f.Static == nil {
		return nil
	}
	if s := f.Static.Status; s != 0 && (s < 200 || s > 599) {
		return fmt.Errorf(".Static.Status is %d, want 200 to 599", s)
	}
	for name, values := range f.Static.Header {
		for _, v := range values {
			if !h1.Token(name) || !h1.PlainText([]byte(v)) {
				return fmt.Errorf(".Static.Header has %q, which cannot be sent", name)
			}
		}
	}
	return nil
}

// Covers reports whether a fallback for the causes on applies to cause.
func Covers(on []FallbackCause, cause FallbackCause) bool {
	return len(on) == 0 || slices.Contains(on, cause)
}

// Code returns the status of a static answer.
func (s *Static) Code() int {
	if s.Status == 0 {
		return http.StatusOK
	}
	return s.Status
}

// Fields appends the fields that are sent.
func (s *Static) Fields(dst []h1.Field) []h1.Field {
	for name, values := range s.Header {
		k := h1.KeyOf(name)
		if k.HopByHop() || k == h1.ContentLength {
			continue
		}
		for _, v := range values {
			dst = append(dst, h1.Field{Name: name, Value: v, Key: k})
		}
	}
	return dst
}

// Bodiless reports whether answers of the status have no body.
func Bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// Mark returns the field that names the kind of fallback and the cause.
func Mark(kind string, on FallbackCause) h1.Field {
	return h1.Field{Name: FallbackField, Value: kind + "; on=" + string(on)}
}

func StaleFields(a stale.Answer, age time.Duration, on FallbackCause) []h1.Field {
	fields := []h1.Field{Mark(KindStale, on), {Name: "Age", Value: strconv.FormatInt(int64(age/time.Second), 10)}}
	for _, f := range a.Header {
		fields = append(fields, h1.Field{Name: f.Name, Value: f.Value, Key: h1.KeyOf(f.Name)})
	}
	return fields
}
