package record

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

// Limits on the keys of a record.
const (
	MaxID    = 64  // bytes of an ID, printable ASCII
	MaxFleet = 255 // bytes of a fleet's name, Unicode without NUL
)

// Limits of [ledger.LetterQuery.Limit].
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Verdict returns v in canonical form, or an error if no store can keep it.
func Verdict(v bezoar.Verdict) (bezoar.Verdict, error) {
	v = CloneVerdict(v)
	var faults []error
	canonicalTime(&faults, "since", &v.Since)
	canonicalTime(&faults, "until", &v.Until)
	checkNumber(&faults, "score", v.Score)
	checkNumber(&faults, "pace", v.Pace)
	checkNumber(&faults, "side_pace", v.SidePace)
	check(&faults, v.ID, v.Fleet, v.Cause, v.Evidence)
	if len(faults) > 0 {
		return v, fmt.Errorf("verdict %.80q cannot be kept: %w", v.ID, errors.Join(faults...))
	}
	return v, nil
}

// Letter returns l in canonical form, or an error if no store can keep it.
func Letter(l bezoar.Letter) (bezoar.Letter, error) {
	l = CloneLetter(l)
	var faults []error
	canonicalTime(&faults, "first", &l.First)
	canonicalTime(&faults, "last", &l.Last)
	if l.Fingerprint.IsZero() {
		// A zero fingerprint identifies nothing: unrelated letters would be merged.
		faults = append(faults, errors.New("fingerprint is missing"))
	}
	check(&faults, l.ID, l.Fleet, l.Class, l.Evidence)
	if len(faults) > 0 {
		return l, fmt.Errorf("letter %.80q cannot be kept: %w", l.ID, errors.Join(faults...))
	}
	return l, nil
}

// Query returns q with defaults filled in, or an error if a value is out of range.
func Query(q ledger.LetterQuery) (ledger.LetterQuery, error) {
	q.Limit = cmp.Or(q.Limit, DefaultLimit)
	if q.Limit < 0 || q.Limit > MaxLimit {
		return q, fmt.Errorf("list letters: limit %d is not between 1 and %d", q.Limit, MaxLimit)
	}
	if q.Offset < 0 {
		return q, fmt.Errorf("list letters: offset %d is negative", q.Offset)
	}
	return q, nil
}

// ValidID reports whether a record can have this ID. A lookup of any other ID finds
// nothing, so the database, which may reject its bytes, need not be asked.
func ValidID(id string) bool {
	if id == "" || len(id) > MaxID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// ValidFleet reports whether name can be the name of a fleet.
func ValidFleet(fleet string) bool {
	return len(fleet) <= MaxFleet && utf8.ValidString(fleet) && !strings.Contains(fleet, "\x00")
}

func check(faults *[]error, id, fleet string, class bezoar.Class, evidence []bezoar.Evidence) {
	if !ValidID(id) {
		*faults = append(*faults, fmt.Errorf("its ID must have 1 to %d printable ASCII characters", MaxID))
	}
	if !ValidFleet(fleet) {
		*faults = append(*faults, fmt.Errorf("fleet %.80q is not valid text of at most %d bytes", fleet, MaxFleet))
	}
	checkClass(faults, "class", class)
	for i := range evidence {
		e := &evidence[i]
		at := fmt.Sprintf("evidence[%d].", i)
		canonicalTime(faults, at+"at", &e.At)
		checkClass(faults, at+"class", e.Class)
		checkNumber(faults, at+"share", e.Share)
		for j, o := range e.Others {
			checkNumber(faults, fmt.Sprintf("%sothers[%d].share", at, j), o.Share)
		}
	}
}

// checkClass rejects a class without a name, because it could not be read back.
func checkClass(faults *[]error, field string, c bezoar.Class) {
	var known bezoar.Class
	if err := known.UnmarshalText([]byte(c.String())); err != nil {
		*faults = append(*faults, fmt.Errorf("%s: %w", field, err))
	}
}

func checkNumber(faults *[]error, field string, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		*faults = append(*faults, fmt.Errorf("%s is %v; want a finite number", field, f))
	}
}

// canonicalTime rejects years that RFC 3339 cannot represent.
func canonicalTime(faults *[]error, field string, t *time.Time) {
	*t = time.UnixMicro(t.UnixMicro()).UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		*faults = append(*faults, fmt.Errorf("%s is in the year %d; want 1 to 9999", field, y))
	}
}

// CloneVerdict returns a copy that shares no memory with v.
func CloneVerdict(v bezoar.Verdict) bezoar.Verdict {
	v.Evidence = cloneEvidence(v.Evidence)
	v.Features, v.FeatureHashes, v.Why = slices.Clone(v.Features), slices.Clone(v.FeatureHashes), slices.Clone(v.Why)
	return v
}

// CloneLetter returns a copy that shares no memory with l.
func CloneLetter(l bezoar.Letter) bezoar.Letter {
	l.Evidence = cloneEvidence(l.Evidence)
	l.Request.Body = slices.Clone(l.Request.Body)
	l.Request.Order = slices.Clone(l.Request.Order)
	l.Request.Header, l.Request.Trailer = cloneFields(l.Request.Header), cloneFields(l.Request.Trailer)
	return l
}

func cloneEvidence(evidence []bezoar.Evidence) []bezoar.Evidence {
	evidence = slices.Clone(evidence)
	for i := range evidence {
		evidence[i].Stderr = slices.Clone(evidence[i].Stderr)
		evidence[i].Others = slices.Clone(evidence[i].Others)
	}
	return evidence
}

func cloneFields(fields map[string][]string) map[string][]string {
	fields = maps.Clone(fields)
	for name, values := range fields {
		fields[name] = slices.Clone(values)
	}
	return fields
}
