package sample

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What the slow and the greedy route cost.
const (
	reportTime = 70 * time.Millisecond
	rowBytes   = 1 << 10
	maxRows    = 2_000_000 // 2 GiB: far beyond the demonstration's memory limit
)

// Handler returns the worker's routes. They are served only while Run runs.
func (w *Worker) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", w.onLoop(w.health))
	mux.HandleFunc("GET /search", w.onLoop(w.search))
	mux.HandleFunc("GET /report", w.onLoop(w.report))
	mux.HandleFunc("GET /item/{id}", w.onLoop(w.item))
	mux.HandleFunc("GET /export", w.onLoop(w.export))
	mux.HandleFunc("POST /orders", w.onLoop(w.order))
	return mux
}

func (w *Worker) health(rw http.ResponseWriter, _ *http.Request, _ []byte) {
	reply(rw, map[string]bool{"ok": true})
}

// search answers ?q=WORD with the nearest product, and ?filter=PATTERN with how
// many products match. Two filters are pills: one that starts with a NUL finds
// the nil pointer, and one such as *a*a*a with 18 stars backtracks for minutes.
func (w *Worker) search(rw http.ResponseWriter, r *http.Request, _ []byte) {
	query := r.URL.Query()
	if !query.Has("filter") {
		word := query.Get("q")
		if len(word) > 64 {
			http.Error(rw, "q may have 64 bytes", http.StatusBadRequest)
			return
		}
		reply(rw, map[string]any{"q": word, "nearest": w.shop.nearest(word)})
		return
	}
	filter := query.Get("filter")
	var p *pattern
	if !strings.HasPrefix(filter, "\x00") { // "nobody sends those"
		var err error
		if p, err = compile(filter); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
	}
	reply(rw, map[string]any{"filter": filter, "count": w.shop.count(p)})
}

// report is the slow one: it holds the loop while it waits.
func (w *Worker) report(rw http.ResponseWriter, _ *http.Request, _ []byte) {
	time.Sleep(reportTime)
	reply(rw, map[string]any{"report": "sales", "products": len(w.shop.names)})
}

func (w *Worker) item(rw http.ResponseWriter, r *http.Request, _ []byte) {
	id := r.PathValue("id")
	reply(rw, map[string]any{"id": id, "price": price(id)})
}

// export builds every row before it answers, as careless code does. Asked for
// a million rows it needs a gigabyte.
func (w *Worker) export(rw http.ResponseWriter, r *http.Request, _ []byte) {
	n, err := strconv.Atoi(r.URL.Query().Get("rows"))
	if err != nil || n < 0 || n > maxRows {
		http.Error(rw, "rows must be a number up to "+strconv.Itoa(maxRows), http.StatusBadRequest)
		return
	}
	rows := make([][]byte, n)
	for i := range rows {
		rows[i] = make([]byte, rowBytes)
		rows[i][i%rowBytes] = 1 // touch it, or the kernel never gives it
	}
	size := 0
	for _, row := range rows {
		size += len(row)
	}
	reply(rw, map[string]any{"rows": n, "bytes": size})
}

// An order is what POST /orders accepts.
type order struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Coupon   string `json:"coupon,omitempty"`
}

// A coupon takes percent off.
type coupon struct{ percent int }

// order prices an order. One with a coupon that does not exist is a pill: the
// lookup returns nil, and nobody asks.
func (w *Worker) order(rw http.ResponseWriter, _ *http.Request, body []byte) {
	var o order
	if err := json.Unmarshal(body, &o); err != nil || o.SKU == "" || o.Quantity < 1 {
		http.Error(rw, "an order has a sku and a quantity", http.StatusBadRequest)
		return
	}
	total := price(o.SKU) * o.Quantity
	if o.Coupon != "" {
		known := map[string]*coupon{"WELCOME10": {10}}
		total -= total * known[o.Coupon].percent / 100
	}
	reply(rw, map[string]any{"sku": o.SKU, "total": total})
}

func reply(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	// A caller who is gone misses the answer; nobody else does.
	_ = json.NewEncoder(rw).Encode(v)
}
