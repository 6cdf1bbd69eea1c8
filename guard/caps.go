package guard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// capping is one edit: it replaces text[start:end].
type capping struct {
	place      cost.CapPlace
	start, end int
	text       string
	says       string
}

// capOf returns the edit that lowers a measure to its limit.
func capOf(m *cost.Measure, limit float64) (capping, bool) {
	c := m.Cap
	if c.Place == cost.CapNone {
		return capping{}, false
	}
	factor := cmp.Or(c.Factor, 1)
	number := math.Floor((limit - c.Base) / factor)
	if !(number >= c.Least && number >= 0 && number <= 1<<53) {
		return capping{}, false
	}
	text := c.Prefix + strconv.FormatFloat(number, 'f', -1, 64) + c.Suffix
	return capping{
		place: c.Place, start: c.Start, end: c.End, text: text,
		says: fmt.Sprintf("%s %s→%s", m.Predictor, Number(m.Value), Number(limit)),
	}, true
}

// apply edits copies of the body and of the URL's query. If two rules edit the same place,
// the first edit wins; after sorting, it belongs to the stricter limit.
func (v *Verdict) apply(q *Query, caps []capping) {
	sorted.StableFunc(caps, func(a, b capping) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.start, b.start), cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.text, b.text))
	})
	body, raw := edit(q.Body, caps, cost.CapBody), edit([]byte(q.RawQuery), caps, cost.CapURL)
	if body != nil {
		v.Body = body
	}
	v.RawQuery = string(raw)
	for _, c := range caps {
		if !slices.Contains(v.Caps, c.says) {
			v.Caps = append(v.Caps, c.says)
		}
	}
}

// edit returns a copy of text with the edits of one place, or nil if there are none.
func edit(text []byte, caps []capping, place cost.CapPlace) []byte {
	var out []byte
	from, last := 0, -1
	for i := range caps {
		c := &caps[i]
		if c.place != place || c.start < from || c.end < c.start || c.end > len(text) {
			continue
		}
		if last >= 0 && caps[last].start == c.start && caps[last].end == c.end && sameName(caps[last].text, c.text) {
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(text)+64)
		}
		out = append(out, text[from:c.start]...)
		out = append(out, c.text...)
		from, last = c.end, i
	}
	if out == nil {
		return nil
	}
	return append(out, text[from:]...)
}

// sameName reports whether two edits set the same setting to different numbers.
func sameName(a, b string) bool { return letters(a) == letters(b) }

func letters(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			out = append(out, s[i])
		}
	}
	return string(out)
}
