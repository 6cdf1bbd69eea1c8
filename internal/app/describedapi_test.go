package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bezoar-dev/bezoar/internal/control/apidoc"
)

// describedCall is one call of the API's description.
type describedCall struct {
	Body      json.RawMessage `json:"requestBody"`
	Responses map[string]struct {
		Ref     string `json:"$ref"`
		Content map[string]struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

// A running Bezoar answers every call that is described, with a status and a
// body that are described. Names of things that are not there stand in the paths,
// and {} in the bodies, so that most answers are refusals.
func TestTheAPIAnswersAsItIsDescribed(t *testing.T) {
	n := serve(t, observed(t, fmt.Sprintf("state_dir: %q\nflows: %q", t.TempDir(), flowsIn(t, twoTasks))))
	n.until("a worker serves", func() bool { s, _ := n.getAs("/search/a", "alice"); return s == http.StatusOK })
	var doc struct {
		Paths map[string]map[string]describedCall `json:"paths"`
	}
	if err := json.Unmarshal(apidoc.Document(), &doc); err != nil {
		t.Fatal(err)
	}
	schemas := compiler(t)
	for _, first := range []struct{ path, body string }{
		{"/api/v1/queues", `{"name": "1"}`},
		{"/api/v1/queues/1/messages", `{"messages": [{"body": "e30="}]}`},
		{"/api/v1/queues/1/parts", `{"parts": [{"body": "e30=", "outcome": {"class": "bug"}}]}`},
		{"/api/v1/quarantine", `{"fleet": "app", "request": {"method": "GET", "target": "/search/pill"}, "for": "1h"}`},
		{"/api/flow/runs", `{"flow": "two", "params": {"who": "ann"}}`},
	} {
		if status, _, body := n.callAPI(http.MethodPost, first.path, first.body); status >= 300 {
			t.Fatalf("POST %s: %d %s", first.path, status, body)
		}
	}
	named, good, all := regexp.MustCompile(`\{\w+\}`), 0, 0
	for _, method := range []string{"get", "post", "put", "delete"} {
		for path, methods := range doc.Paths {
			call, ok := methods[method]
			if !ok {
				continue
			}
			all++
			in := ""
			if call.Body != nil {
				in = "{}"
			}
			status, media, body := n.callAPI(strings.ToUpper(method), named.ReplaceAllString(path, "1"), in)
			what := strings.ToUpper(method) + " " + path
			answer, ok := call.Responses[strconv.Itoa(status)]
			if !ok {
				t.Errorf("%s answers %d, which is not described: %s", what, status, body)
				continue
			}
			if bytes.Contains(body, []byte("the API has no")) || bytes.Contains(body, []byte("the API of flows has no")) {
				t.Errorf("%s: %s", what, body)
			}
			if status < 300 {
				good++
			}
			at := "#/components/responses/Refused/content/application~1problem+json/schema"
			if answer.Ref == "" {
				if _, ok := answer.Content[media]; !ok && len(body) > 0 {
					t.Errorf("%s answers %s, which is not described", what, media)
				}
				at = "#/paths/" + pointer(path) + "/" + method + "/responses/" + strconv.Itoa(status) + "/content/" + pointer(media) + "/schema"
			}
			if media == "application/json" || media == "application/problem+json" {
				check(t, schemas, what, at, body)
			}
		}
	}
	if all < 60 || good < 20 {
		t.Errorf("%d of %d calls succeeded, want more", good, all)
	}
}

func pointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
}

func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(apidoc.Document()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c
}

func check(t *testing.T, c *jsonschema.Compiler, what, at string, body []byte) {
	t.Helper()
	schema, err := c.Compile("openapi.json" + at)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s: %v: %s", what, err, body)
	} else if err := schema.Validate(got); err != nil {
		t.Errorf("%s: %v\n%s", what, err, body)
	}
}

// callAPI calls the admin API. Of an answer without an end it reads nothing.
func (n *node) callAPI(method, path, in string) (status int, media string, body []byte) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, "http://"+n.adminAt+path, strings.NewReader(in))
	if err != nil {
		n.t.Fatal(err)
	}
	if in != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := n.http.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	media, _, _ = strings.Cut(res.Header.Get("Content-Type"), ";")
	if media == "text/event-stream" {
		return res.StatusCode, media, nil
	}
	if body, err = io.ReadAll(res.Body); err != nil {
		n.t.Fatal(err)
	}
	return res.StatusCode, media, body
}
