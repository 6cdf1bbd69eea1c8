package traffic

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// A request is one call and what a right answer to it contains.
type request struct {
	method, target, body string
	key                  string // Idempotency-Key
	want                 string
}

// A mix makes up good requests: one popular, one slow, and many that nobody has
// sent before. The same seed makes the same requests.
type mix struct {
	random *rand.Rand
	n      int
}

func newMix(seed uint64) *mix {
	return &mix{random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // it has to be the same every time
}

// next returns the next good request. The shares are chosen so that eight
// workers are busy a tenth of their time at the default rate.
func (m *mix) next() request {
	m.n++
	switch roll := m.random.IntN(100); {
	case roll < 30: // the popular one
		return request{method: http.MethodGet, target: "/search?q=blue+lamp", want: `"q":"blue lamp"`}
	case roll < 38: // the slow one
		return request{method: http.MethodGet, target: "/report?of=sales", want: `"report":"sales"`}
	case roll < 48: // an honest filter, on the route of the poisonous ones
		word := m.word()
		return request{
			method: http.MethodGet, target: "/search?filter=" + word + "%2A",
			want: fmt.Sprintf(`"filter":"%s*"`, word),
		}
	case roll < 68:
		word := m.word()
		return request{method: http.MethodGet, target: "/search?q=" + word, want: fmt.Sprintf(`"q":%q`, word)}
	case roll < 72:
		rows := 10 + m.random.IntN(40)
		return request{
			method: http.MethodGet, target: fmt.Sprintf("/export?rows=%d", rows),
			want: fmt.Sprintf(`"rows":%d`, rows),
		}
	case roll < 84:
		sku := fmt.Sprintf("P-%05d", m.random.IntN(100_000))
		return request{
			method: http.MethodPost, target: "/orders",
			body: fmt.Sprintf(`{"sku":%q,"quantity":%d}`, sku, 1+m.random.IntN(5)),
			key:  fmt.Sprintf("order-%08d", m.n),
			want: fmt.Sprintf(`"sku":%q`, sku),
		}
	default:
		id := fmt.Sprintf("%07d", m.random.IntN(10_000_000))
		return request{method: http.MethodGet, target: "/item/" + id, want: fmt.Sprintf(`"id":%q`, id)}
	}
}

// word returns a pronounceable word that was hardly ever sent before.
func (m *mix) word() string {
	var b strings.Builder
	for range 2 + m.random.IntN(3) {
		b.WriteByte("bdfgklmnprst"[m.random.IntN(12)])
		b.WriteByte("aeiou"[m.random.IntN(5)])
	}
	return b.String()
}
