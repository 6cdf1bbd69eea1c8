package outboxdemo

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Result counts the orders and events of one way.
type Result struct {
	Way          Way `json:"way"`
	Crashes      int `json:"crashes"`       // of the application
	RelayCrashes int `json:"relay_crashes"` // of the relay; 0 without a relay
	Orders       int `json:"orders"`        // committed orders
	Events       int `json:"events"`        // distinct delivered events
	Lost         int `json:"lost"`          // orders without an event
	Invented     int `json:"invented"`      // events without an order
	Twice        int `json:"delivered_again"`
	Late         int `json:"out_of_order"` // first deliveries that came after a later one of the same key
	Took         time.Duration
}

// MarshalJSON encodes durations in seconds.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return json.Marshal(struct {
		plain
		Took    any     `json:"Took,omitempty"`
		Seconds float64 `json:"seconds"`
	}{plain(r), nil, r.Took.Seconds()})
}

// Report is the result of the demonstration.
type Report struct {
	Asked    int      `json:"asked"` // orders that customers requested
	Database string   `json:"database"`
	Ways     []Result `json:"ways"`
}

// Held reports whether the outbox kept its guarantee.
func (r Report) Held() bool {
	last := r.Ways[len(r.Ways)-1]
	return last.Lost == 0 && last.Invented == 0 && last.Late == 0
}

func (r Report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	const line = "%-16s  %8s  %8s  %8s  %8s  %12s  %15s  %s\n"
	var text strings.Builder
	fmt.Fprintf(&text, line, "", "orders", "events", "lost", "invented", "out of order", "delivered again", "killed")
	for _, one := range r.Ways {
		killed := fmt.Sprintf("%d times", one.Crashes)
		if one.RelayCrashes > 0 {
			killed += fmt.Sprintf(", and the relay %d times", one.RelayCrashes)
		}
		n := strconv.Itoa
		fmt.Fprintf(&text, line, one.Way, n(one.Orders), n(one.Events), n(one.Lost), n(one.Invented), n(one.Late), n(one.Twice), killed)
	}
	fmt.Fprintf(&text, "\n%d orders were requested in each way; %s. An order whose transaction a crash interrupts is not placed.\n"+
		"Repeated deliveries of an event have the same ID, so consumers can drop them.\n", r.Asked, r.Database)
	_, err := io.WriteString(w, text.String())
	return err
}
