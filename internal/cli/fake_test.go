package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

const fakeToken = "correct horse"

// fakeAPI is the admin API over a few canned things.
type fakeAPI struct {
	mu       sync.Mutex // guards everything below
	verdicts map[string]bezoar.Verdict
	letters  map[string]bezoar.Letter
	rollout  *adminapi.Rollout // of the fleet search
}

func newFakeAPI() http.Handler {
	now := time.Now()
	f := &fakeAPI{verdicts: map[string]bezoar.Verdict{}, letters: map[string]bezoar.Letter{}}
	for _, id := range []string{"q-aa0000000001", "q-aa0000000002", "q-bb0000000003"} {
		f.verdicts[id] = bezoar.Verdict{
			ID: id, Scope: bezoar.ScopeWork, State: bezoar.Quarantined, Fleet: "search", Cause: bezoar.Crash,
			Reason: "It crashed the lane.", Sample: "GET /search?q=\x1b[2J", Since: now.Add(-3 * time.Minute), Until: now.Add(time.Hour), Refused: 7,
		}
	}
	for _, id := range []string{"dl-aa0000000001", "dl-bb0000000002", "dl-cc0000000003"} {
		f.letters[id] = bezoar.Letter{
			ID: id, Fleet: "search", Class: bezoar.OOM, Reason: "It ran a worker out of memory.", Copies: 3, Last: now, First: now,
			Request: bezoar.Request{Method: "POST", Target: "/export", Body: []byte("a\x00b\n"), BodySize: 4},
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+adminapi.PathQuarantine, f.listVerdicts)
	mux.HandleFunc("POST "+adminapi.PathQuarantine, f.addVerdict)
	mux.HandleFunc("GET "+adminapi.PathVerdict, one(f, f.verdicts))
	mux.HandleFunc("DELETE "+adminapi.PathVerdict, drop(f, f.verdicts))
	mux.HandleFunc("GET "+adminapi.PathLetters, f.listLetters)
	mux.HandleFunc("GET "+adminapi.PathLetter, one(f, f.letters))
	mux.HandleFunc("DELETE "+adminapi.PathLetter, drop(f, f.letters))
	mux.HandleFunc("POST "+adminapi.PathRedrive, f.redrive)
	mux.HandleFunc("GET "+adminapi.PathFleets, f.fleets)
	mux.HandleFunc("POST "+adminapi.PathRestart, f.restart)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+fakeToken {
			adminapi.NewProblem(401, adminapi.CodeUnauthorized, "no token, or a wrong one").Write(w)
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func one[T any](_ *fakeAPI, of map[string]T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, ok := of[r.PathValue("id")]
		if !ok {
			adminapi.NewProblem(404, adminapi.CodeNotFound, "nothing has that id").Write(w)
			return
		}
		answer(w, v)
	}
}

func drop[T any](f *fakeAPI, of map[string]T) http.HandlerFunc {
	find := one(f, of)
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		if _, ok := of[id]; !ok {
			find(w, r)
			return
		}
		delete(of, id)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (f *fakeAPI) listVerdicts(w http.ResponseWriter, r *http.Request) {
	out := adminapi.Verdicts{Verdicts: []bezoar.Verdict{}}
	for _, v := range f.verdicts {
		if fleet := r.URL.Query().Get("fleet"); fleet == "" || fleet == v.Fleet {
			out.Verdicts = append(out.Verdicts, v)
		}
	}
	if r.URL.Query().Get("fleet") == "shared" { // with other nodes
		v := f.verdicts["q-bb0000000003"]
		v.Fleet, v.Node = "shared", "web-2"
		out.Verdicts = append(out.Verdicts, v)
	}
	answer(w, out)
}

func (f *fakeAPI) addVerdict(w http.ResponseWriter, r *http.Request) {
	var a adminapi.Add
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		adminapi.NewProblem(400, adminapi.CodeInvalid, err.Error()).Write(w)
		return
	}
	v := bezoar.Verdict{
		ID: "q-cc0000000004", State: bezoar.Quarantined, Fleet: "search", Fingerprint: a.Fingerprint, Reason: a.Reason,
		Manual: true, Until: time.Now().Add(time.Duration(a.For)),
	}
	if a.Request != nil {
		v.Sample = fmt.Sprintf("%s %s host=%s %v %q", a.Request.Method, a.Request.Target, a.Request.Host, a.Request.Header, a.Request.Body)
	}
	answer(w, v)
}

func (f *fakeAPI) listLetters(w http.ResponseWriter, _ *http.Request) {
	out := adminapi.Letters{Letters: []bezoar.Letter{}}
	for _, l := range f.letters {
		out.Letters = append(out.Letters, l)
	}
	answer(w, out)
}

// redrive answers by the letter's id: aa runs clean, bb crashes, the rest
// finds no lane.
func (f *fakeAPI) redrive(w http.ResponseWriter, r *http.Request) {
	out := adminapi.Redriven{ID: r.PathValue("id")}
	switch out.ID {
	case "dl-aa0000000001":
		out.Outcome, out.Status = adminapi.Answered, 200
	case "dl-bb0000000002":
		out.Outcome, out.Reason = adminapi.Crashed, "signal: killed"
	default:
		adminapi.NewProblem(503, adminapi.CodeUnavailable, "no worker is free").Write(w)
		return
	}
	answer(w, out)
}

func (f *fakeAPI) fleets(w http.ResponseWriter, _ *http.Request) {
	answer(w, adminapi.Fleets{Fleets: []adminapi.Fleet{
		{
			Name: "search", State: "ok", Managed: true, Lane: adminapi.Lane{Open: true}, Rollout: f.rollout,
			Workers: []adminapi.Worker{{Name: "search-1", Addr: "127.0.0.1:9001", PID: 77, State: "ready", Epoch: 40}},
		},
		{
			Name: "tired", State: "down", Recovery: &adminapi.Recovery{Runs: 2, Waiting: 17}, Workers: []adminapi.Worker{{Name: "tired-1", State: "down", Epoch: 1}},
			Rollout: &adminapi.Rollout{Number: 1, State: "running", Began: time.Now(), Workers: 1, Worker: "tired-1"},
		},
		{
			Name: "worse", State: "ok", Workers: []adminapi.Worker{{Name: "worse-1", State: "ready", Epoch: 9}},
			Rollout: &adminapi.Rollout{
				Number: 2, State: "stopped", Ended: time.Now(), Workers: 1, Worker: "worse-1", Tries: 2, Stopped: 1,
				Why: "2 new processes ended", Next: "Go back.",
			},
		},
	}})
}

func (f *fakeAPI) restart(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("name") {
	case "search":
		f.rollout = &adminapi.Rollout{Number: 1, State: "done", Workers: 1, Replaced: 1}
	case "tired": // its worker never comes back
	case "worse":
		answer(w, adminapi.Restarting{Fleet: "worse", Workers: 1, Number: 2})
		return
	default:
		adminapi.NewProblem(404, adminapi.CodeNotFound, "there is no such fleet").Write(w)
		return
	}
	answer(w, adminapi.Restarting{Fleet: r.PathValue("name"), Workers: 1, Number: 1})
}
