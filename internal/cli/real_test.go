package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/queue"
)

// realKey is where a script's environment keeps its App.
type realKey struct{}

// startBezoar runs a real Bezoar in this process for one script; with a file, as
// that says, and following it. $WORK in the file is the script's folder,
// $WORKER a worker that answers everything.
func startBezoar(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: startbezoar [FILE]")
	}
	cfg := config.Default()
	cfg.Listen, cfg.Admin, cfg.Store, cfg.StateDir, cfg.SQS = "", "127.0.0.1:0", config.MemoryStore, "", "127.0.0.1:0"
	var opt app.Options
	opt.Alarms.Every = 100 * time.Millisecond
	if len(args) == 1 {
		opt.Settings.Path = ts.MkAbs(args[0])
		worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
		ts.Defer(worker.Close)
		text := strings.NewReplacer("$WORKER", worker.URL, "$WORK", ts.Getenv("WORK")).Replace(ts.ReadFile(args[0]))
		ts.Check(os.WriteFile(opt.Settings.Path, []byte(text), 0o600))
		var err error
		cfg, err = config.Load(opt.Settings.Path, nil)
		ts.Check(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a, err := app.New(ctx, cfg, opt)
	ts.Check(err)
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	ts.Defer(func() {
		cancel()
		ts.Check(<-done)
	})
	if len(args) == 1 {
		awaitSettings(ts, a.AdminAddr())
	}
	ts.Setenv("BEZOAR_ADMIN", a.AdminAddr())
	ts.Setenv("BEZOAR_ADMIN_TOKEN", "")
	ts.Setenv("GATEWAY", a.Addr())
	ts.Setenv("JOBS", "http://"+a.SQSAddr()+"/000000000000/jobs")
	ts.Setenv("OTHERS", "http://"+a.SQSAddr()+"/000000000000/others")
	*ts.Value(realKey{}).(**app.App) = a
}

// awaitSettings waits until a Bezoar says that its settings run.
func awaitSettings(ts *testscript.TestScript, admin string) {
	c, err := adminapi.New(adminapi.Config{Address: admin})
	ts.Check(err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		st, err := c.Settings(ctx)
		ts.Check(err)
		if st.Running.Number > 0 {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}

// sendQuery runs "query STATUS CALLER PATH BODY": a search that the gateway is to
// answer so.
func sendQuery(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: query STATUS CALLER PATH BODY")
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+ts.Getenv("GATEWAY")+args[2], strings.NewReader(args[3]))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Opaque-Id", args[1])
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	ts.Check(err)
	ts.Check(res.Body.Close())
	if got := strconv.Itoa(res.StatusCode); got != args[0] {
		ts.Fatalf("answered %s, want %s", got, args[0])
	}
}

// makeLetters runs "deadletters QUEUE N CLASS:FAILURE REASON": N messages that
// were received and rejected.
func makeLetters(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: deadletters QUEUE N CLASS:FAILURE REASON")
	}
	e, ctx, name := (*ts.Value(realKey{}).(**app.App)).Queues(), context.Background(), args[0]
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	class, failure, _ := strings.Cut(args[2], ":")
	o := queue.Outcome{Failure: failure, Reason: args[3]}
	ts.Check(o.Class.UnmarshalText([]byte(class)))
	_, err = e.CreateQueue(ctx, name, queue.DefaultSettings(), nil)
	ts.Check(err)
	for i := range n {
		_, err := e.Send(ctx, name, queue.SendInput{Body: fmt.Appendf(nil, `{"n":%d,"of":%q}`, i, failure)})
		ts.Check(err)
		got, err := e.Receive(ctx, name, queue.ReceiveInput{})
		ts.Check(err)
		if len(got) != 1 {
			ts.Fatalf("received %d messages", len(got))
		}
		ts.Check(e.Reject(ctx, name, got[0].Receipt, o))
	}
}

// firstLetter sets LETTER to the id of a queue's newest letter.
func firstLetter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: firstletter QUEUE")
	}
	letters, err := (*ts.Value(realKey{}).(**app.App)).Queues().Letters(context.Background(), queue.Selection{Queue: args[0]}, 0, 1)
	ts.Check(err)
	if len(letters) != 1 || letters[0].Letter.Class == bezoar.Done {
		ts.Fatalf("%s has no letter", args[0])
	}
	ts.Setenv("LETTER", letters[0].ID)
}

// firstVerdict sets VERDICT to the id of a verdict.
func firstVerdict(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: firstverdict")
	}
	c, err := adminapi.New(adminapi.Config{Address: ts.Getenv("BEZOAR_ADMIN")})
	ts.Check(err)
	defer c.Close()
	verdicts, err := c.Verdicts(context.Background(), "")
	ts.Check(err)
	if len(verdicts) == 0 {
		ts.Fatalf("there is no verdict")
	}
	ts.Setenv("VERDICT", verdicts[0].ID)
}

// workOn runs "workon QUEUE N": somebody who is done with the next N messages of a
// queue.
func workOn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: workon QUEUE N")
	}
	e := (*ts.Value(realKey{}).(**app.App)).Queues()
	left, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	done, wait := make(chan error, 1), queue.MaxWait
	go func() {
		var err error
		for left > 0 && err == nil {
			var got []queue.Message
			got, err = e.Receive(ctx, args[0], queue.ReceiveInput{Max: left, Wait: &wait})
			for _, m := range got {
				err = errors.Join(err, e.Delete(ctx, args[0], m.Receipt))
			}
			left -= len(got)
		}
		done <- err
	}()
	ts.Defer(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			ts.Check(err)
		}
	})
}
