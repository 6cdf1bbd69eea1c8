package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

// noon is now, in every report.
func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

func sampleEvidence() []bezoar.Evidence {
	return []bezoar.Evidence{
		{
			Worker: "search-5", Epoch: 17, At: noon().Add(-190 * time.Second), Class: bezoar.Crash, ExitCode: 2, InFlight: 7, Share: 0.42,
			Others: []bezoar.Suspect{{Fingerprint: bezoar.Fingerprint{0x9f, 0x3a}, Share: 0.31}, {Fingerprint: bezoar.Fingerprint{0x01}, Share: 0.1}},
		},
		{
			Worker: "search-3", Epoch: 41, At: noon().Add(-3 * time.Minute), Class: bezoar.Crash, Detail: "signal: segmentation fault (core dumped)",
			ExitCode: -1, Signal: "SIGSEGV", Lane: true, InFlight: 1, Share: 1,
			Stderr: []string{"panic: runtime error: index out of range [7] with length 3", "\t/srv/shop/main.go:54 +0x10", "\x1b]0;owned\x07 goroutine 1 [running]:" + strings.Repeat(" very long", 20)},
		},
	}
}

func sampleVerdict() bezoar.Verdict {
	return bezoar.Verdict{
		ID: "q-3f9c00a1b2c4", Scope: bezoar.ScopeWork, State: bezoar.Quarantined, Fleet: "search", Route: "/search/*", Cause: bezoar.Crash,
		Fingerprint: bezoar.Fingerprint{0xab, 1}, Shape: bezoar.Fingerprint{0xcd, 2},
		Reason: "It crashed the lane while it ran alone, after it had been in flight in the crash of another worker.",
		Sample: "GET /search?q=(a%2B)%2B%24\x1b[31m", Score: 1.42, Level: 2,
		Since: noon().Add(-3 * time.Minute), Until: noon().Add(58 * time.Second), Refused: 12, Evidence: sampleEvidence(),
	}
}

func sampleLetter() bezoar.Letter {
	return bezoar.Letter{
		ID: "dl-3f9c00a1b2c4", Fleet: "search", Route: "/export", Verdict: "q-3f9c00a1b2c4", Class: bezoar.OOM,
		Reason: "It ran two workers out of memory.", First: noon().Add(-26 * time.Hour), Last: noon().Add(-time.Minute), Copies: 3,
		Request: bezoar.Request{
			Method: "POST", Target: "/export?all=1", Host: "shop.example", Client: "192.0.2.7",
			Header: map[string][]string{"Content-Type": {"application/json"}, "Authorization": {"[redacted]"}},
			Body:   []byte("{\"rows\":\t1e9,\r\n \"bell\":\"\x07\"}\n" + strings.Repeat("x", 3000)), BodySize: -1, Truncated: true,
		},
		Evidence: sampleEvidence()[:1],
	}
}

func TestReports(t *testing.T) {
	operators := bezoar.Verdict{
		ID: "q-000000000001", Scope: bezoar.ScopeShape, State: bezoar.Laned, Fleet: "search", Manual: true,
		Shape: bezoar.Fingerprint{7}, Fingerprint: bezoar.Fingerprint{7}, Reason: "incident 4711", Since: noon(), Level: 1, Refused: 1,
	}
	variant := sampleVerdict()
	variant.Scope, variant.Variant, variant.ReportOnly = bezoar.ScopeVariant, bezoar.Fingerprint{0xab, 2}, true
	variant.Why = []string{
		"At 2026-03-04T11:57:00Z search-3 died (signal: segmentation fault) while it ran there alone, with nothing else answered there shortly before.",
		"Nothing wider is refused: 1 variant of this fingerprint killed alone, but 7 requests of it succeeded meanwhile.",
	}
	feature := sampleVerdict()
	feature.Scope, feature.Features, feature.Evidence = bezoar.ScopeFeature, []string{"header X-Theme: neon\x1b[31m"}, nil
	feature.Killers, feature.Successes = 3, 32
	feature.Why = []string{"All 3 variants of this fingerprint that killed alone have header X-Theme: neon."}
	client := operators
	client.Manual, client.Scope, client.Pace, client.Killers = false, bezoar.ScopeClient, 0.25, 2
	whole := sampleLetter()
	whole.Variant = bezoar.Fingerprint{0xab, 2}
	whole.Request.Truncated, whole.Request.BodySize = false, int64(len(whole.Request.Body))
	whole.Evidence, whole.First = nil, whole.Last
	fleet := adminapi.Fleet{
		Name: "search", State: "degraded", Lane: adminapi.Lane{Worker: "search-3", Open: true, Waiting: 2},
		Counters: map[string]int64{"deliveries": 1200, "answered": 1100},
		Workers: []adminapi.Worker{
			{Name: "search-1", Addr: "127.0.0.1:40001", PID: 4711, State: "ready", Epoch: 3, Since: noon().Add(-2 * time.Hour), InFlight: 3},
			{
				Name: "search-3", Addr: "127.0.0.1:40003", PID: 4713, State: "ready", Lane: true, Epoch: 9, Since: noon().Add(-time.Minute),
				Restarts: 2, LastEnd: &adminapi.End{At: noon().Add(-time.Minute), Class: bezoar.Crash, Detail: "signal: segmentation fault"},
			},
			{Name: "search-4", State: "down", Epoch: 4, LastEnd: &adminapi.End{At: noon(), Planned: true, Class: bezoar.Interrupted}},
		},
	}
	for name, write := range map[string]func(*printer){
		"verdict":  func(p *printer) { reportVerdict(p, noon(), sampleVerdict()) },
		"variant":  func(p *printer) { reportVerdict(p, noon(), variant) },
		"feature":  func(p *printer) { reportVerdict(p, noon(), feature) },
		"caller":   func(p *printer) { reportVerdict(p, noon(), client) },
		"operator": func(p *printer) { reportVerdict(p, noon(), operators) },
		"letter":   func(p *printer) { reportLetter(p, noon(), sampleLetter()) },
		"whole":    func(p *printer) { reportLetter(p, noon(), whole) },
		"fleet":    func(p *printer) { writeFleet(p, noon(), fleet) },
		"panic":    func(p *printer) { writeWholeFleet(p, noon(), sampleFleet()) },
		"settings": func(p *printer) { writeSettings(p, noon(), sampleSettings()) },
	} {
		t.Run(name, func(t *testing.T) {
			var plain, narrow bytes.Buffer
			write(&printer{w: &plain})
			golden.Equal(t, name+".txt", plain.Bytes())
			write(&printer{w: &narrow, color: true, width: func() int { return 60 }})
			golden.Equal(t, name+"-60-colour.txt", narrow.Bytes())
			for _, out := range []string{plain.String(), narrow.String()} {
				if strings.ContainsAny(out, "\x07\r") || strings.Contains(out, "\x1b]") || strings.Contains(out, "\x1b[31m\n") {
					t.Error("a control sequence from a request reached the terminal")
				}
			}
		})
	}
}

func TestTimesForPeople(t *testing.T) {
	now := noon()
	for d, want := range map[time.Duration]string{
		0: "just now", -time.Second: "just now", 90 * time.Second: "90s ago", 3 * time.Minute: "3m ago",
		3 * time.Hour: "3h ago", 72 * time.Hour: "3d ago",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%v ago is %q, want %q", d, got, want)
		}
	}
	if got := until(now, now.Add(-time.Hour)); got != "now" {
		t.Errorf("a time that has come is %q", got)
	}
	if got := ago(now, time.Time{}); got != "never" {
		t.Errorf("no time is %q", got)
	}
	if got := clock(now, now.Add(-24*time.Hour)); got != "2026-03-03 12:00:00" {
		t.Errorf("yesterday is %q", got)
	}
}
