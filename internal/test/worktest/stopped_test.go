//go:build linux

package worktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/queue"
)

// Workers of one folder share what they know of payloads. One of them is stopped
// (SIGSTOP), and the lock of the facts stays held: the others, those that come
// later too, go on and finish. When it goes on all know the same again.
func TestAStoppedWorkerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.plain, r.shared = true, true
	var bodies []string
	for i := range soak(4000, 400) {
		kind := "good"
		switch i % 100 { // so few fail alike that no worker takes them for an outage
		case 0:
			kind = "segv" // is noted, and convicted after two deaths
		case 50:
			kind = "abort"
		}
		bodies = append(bodies, filler(kind, i))
	}
	r.queues(func(ctx context.Context, e *queue.Engine) error {
		s := queue.DefaultSettings()
		s.Quarantine.Off = true
		_, err := e.CreateQueue(ctx, "dead", s, nil)
		return err
	})
	sent := r.fill(bodies, 0)
	stop := r.serve()
	r.estrange()
	hire := func(more ...string) *crew {
		handler, err := filepath.Abs("testdata/handler.sh")
		if err != nil {
			t.Fatal(err)
		}
		return r.work(append([]string{
			"--concurrency", "4", "--dead-letter", strings.TrimSuffix(r.url, jobs) + "dead", "--drain", "5s", "--log", "info",
		}, more...), []string{"bash", handler})
	}

	a, b := hire(), hire("--until-idle", "8s")
	r.until(time.Minute, "both workers have done something", nil, func() bool { return len(a.events) > 0 && len(b.events) > 0 })
	resume := r.stopInTransaction(a)
	c := hire("--until-idle", "8s")
	b.idle()
	c.idle()
	good := 0
	for id, body := range sent {
		if kindOf(body) == "good" {
			good++
		} else {
			delete(sent, id)
		}
	}
	for _, e := range r.entries() {
		if e.what == "end" {
			delete(sent, e.id)
		}
	}
	if len(sent) > 0 {
		t.Errorf("%d of %d good messages were not done while one worker was stopped", len(sent), good)
	}
	const ahead = "goes on with the facts in its memory"
	for name, w := range map[string]*crew{"that ran": b, "that came later": c} {
		if n := strings.Count(w.log.String(), ahead); n != 1 {
			t.Errorf("the worker %s says %d times that it %s, want once:\n%s", name, n, ahead, w.log)
		}
	}
	resume()
	a.term()
	stop()
}

// stopInTransaction stops a worker, and has the lock of the facts held as by one that
// is stopped in a transaction. Transactions take microseconds: where this one was in
// none, the test takes the lock in its place.
func (r *rig) stopInTransaction(c *crew) (resume func()) {
	r.Helper()
	file := r.factsLock()
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		r.Fatalf("the worker ended:\n%s", c.log)
	}
	resume = sync.OnceFunc(func() {
		_ = file.Close() // and with it the lock
		_ = c.cmd.Process.Signal(syscall.SIGCONT)
	})
	r.Cleanup(resume)
	r.until(time.Minute, "the worker is stopped", nil, func() bool { return state(r, c.pid()) == 'T' })
	r.until(time.Minute, "the lock of the facts is held", nil, func() bool {
		return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil || r.holds(c.pid(), file)
	})
	return resume
}

// factsLock opens the file whose lock transactions have, once there is one.
func (r *rig) factsLock() *os.File {
	r.Helper()
	var found []string
	r.until(time.Minute, "the facts are there", nil, func() bool {
		found, _ = filepath.Glob(filepath.Join(r.dir, "bezoar", "work", "*", "facts.lock"))
		return len(found) > 0
	})
	file, err := os.OpenFile(found[0], os.O_RDWR, 0)
	if err != nil {
		r.Fatal(err)
	}
	return file
}

// holds reports whether a process holds the lock of a file.
func (r *rig) holds(pid int, lock *os.File) bool {
	var file unix.Stat_t
	if err := unix.Fstat(int(lock.Fd()), &file); err != nil {
		r.Fatal(err)
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		r.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) { // 1: FLOCK ADVISORY WRITE pid major:minor:inode 0 EOF
		f := strings.Fields(line)
		if len(f) == 8 && f[1] == "FLOCK" && f[4] == fmt.Sprint(pid) && strings.HasSuffix(f[5], fmt.Sprint(":", file.Ino)) {
			return true
		}
	}
	return false
}

// state is what the kernel says a process does: R, S, T for stopped.
func state(t testing.TB, pid int) byte {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return text[bytes.LastIndexByte(text, ')')+2]
}

// estrange makes the endpoint one of somebody else's, on which workers judge for
// themselves: whatever is Bezoar's own is unknown to it.
func (r *rig) estrange() {
	r.Helper()
	to, err := url.Parse(r.url)
	if err != nil {
		r.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
			for name := range p.Out.Header {
				if strings.HasPrefix(name, "X-Bezoar") {
					p.Out.Header.Del(name)
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the caller is gone
		}
		if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".GetQueueAttributes") && bytes.Contains(body, []byte(`"Bezoar`)) {
			w.Header().Set("X-Amzn-Query-Error", "InvalidAttributeName;Sender")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#InvalidAttributeName","message":"Unknown Attribute."}`)
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, q)
	}))
	r.Cleanup(foreign.Close)
	r.url = foreign.URL + to.Path
}
