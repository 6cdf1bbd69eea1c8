package accesslog_test

import (
	"log/slog"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
)

// Every refusal is logged, and of what went well one in a hundred. Observe is a
// Config's; here two requests are made up.
func ExampleLog() {
	log, err := accesslog.New(accesslog.Config{
		Log: slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		})),
		Every: 100,
	})
	if err != nil {
		panic(err)
	}
	log.Observe(&accesslog.Record{Route: "search", Method: "GET", Status: 200, Attempts: 1, Worker: "search-1", Duration: 12 * time.Millisecond, BytesOut: 512})
	log.Observe(&accesslog.Record{Route: "search", Method: "GET", Status: 200}) // not its turn
	log.Observe(&accesslog.Record{Route: "search", Method: "GET", Status: 429, Rule: "rate:per-key", RequestID: "7f3a"})
	// Output:
	// {"level":"INFO","msg":"request","route":"search","method":"GET","status":200,"bytes_in":0,"bytes_out":512,"duration_ms":12,"attempts":1,"worker":"search-1"}
	// {"level":"WARN","msg":"request","request":"7f3a","route":"search","method":"GET","status":429,"bytes_in":0,"bytes_out":0,"attempts":0,"rule":"rate:per-key"}
}
