package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// hinted requests target and counts the interim answers before the answer.
func hinted(t *testing.T, url string) (hints int, res *http.Response, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer client.CloseIdleConnections()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { hints++; return nil },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err = client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return hints, res, string(body)
}

// A worker that reports its progress by interim answers is no broken one: servers of resumable
// uploads send one each second.
func TestManyInterimAnswers(t *testing.T) {
	f, d, _ := through(t, func(c *workerConn) {
		c.request()
		for n := range 90 {
			c.send(fmt.Sprintf("HTTP/1.1 104 Upload Resumption Supported\nUpload-Offset: %d\n\n", n))
		}
		c.send(hello)
	})
	hints, res, text := hinted(t, "http://"+f.addr+"/")
	if hints != 90 || res.StatusCode != http.StatusOK || text != "hello" {
		t.Errorf("%d interim answers, %d %q", hints, res.StatusCode, text)
	}
	if r := d.result(); r.Fault != dispatch.NoFault {
		t.Errorf("fault %v, %v", r.Fault, r.Err)
	}
}

// Interim answers over HTTP/2 that come faster than the caller takes them are left out, and the
// answer comes.
func TestManyInterimAnswersOverHTTP2(t *testing.T) {
	f, d, _ := throughTwo(t)
	hints, res, _ := hinted(t, "http://"+f.addr+"/hints")
	if hints == 0 || res.StatusCode != http.StatusOK {
		t.Errorf("%d interim answers, status %d", hints, res.StatusCode)
	}
	if r := d.result(); r.Fault != dispatch.NoFault {
		t.Errorf("fault %v, %v", r.Fault, r.Err)
	}
}
