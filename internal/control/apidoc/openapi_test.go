package apidoc_test

import (
	"bytes"
	stdcmp "cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/apidoc"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
	"github.com/bezoar-dev/bezoar/internal/triage"
)

const about = `Everything that the console and the command line show and do, at the admin address (127.0.0.1:7070 unless set).
A refused call is answered with a problem document (RFC 9457), whose code is stable. The server refuses query parameters and members of bodies that it does not know.
Each call may say in the header Bezoar-Actor who makes it, for the audit log.`

func TestTheDescriptionIsMadeFromTheContract(t *testing.T) {
	ops := operations()
	s := newSchemas(t, ops)
	paths := object{}
	for _, o := range ops {
		at, ok := paths[o.path].(object)
		if !ok {
			at = object{}
			paths[o.path] = at
		}
		at[strings.ToLower(o.method)] = s.operation(o)
	}
	problem := s.of(reflect.TypeFor[adminapi.Problem]())
	doc := object{
		"openapi": "3.1.1",
		"info": object{
			"title": "Admin API of Bezoar", "version": "1", "description": strings.ReplaceAll(about, "\n", " "),
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []any{object{"url": "http://" + adminapi.DefaultAddress}},
		"security": []any{object{"token": []any{}}, object{}},
		"tags":     tags(ops),
		"paths":    paths,
		"components": object{
			"schemas": s.made,
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer",
				"description": "admin_token of the settings. Without a token, the API answers only on this machine.",
			}},
			"responses": object{"Refused": object{
				"description": "The call was refused; `code` says why.",
				"content":     object{adminapi.ProblemType: object{"schema": problem}},
			}},
		},
	}
	out, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, '\n')
	golden.File(t, "openapi.json", out)
	switch { // compressed bytes may differ between versions of Go
	case bytes.Equal(apidoc.Document(), out):
	case golden.Updating():
		golden.File(t, "openapi.json.gz", compressed(t, out))
	default:
		t.Error("openapi.json.gz differs from openapi.json (run the test with -update)")
	}
}

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tags(ops []operation) (out []any) {
	var seen []string
	for _, o := range ops {
		if !slices.Contains(seen, o.tag) {
			seen = append(seen, o.tag)
			out = append(out, object{"name": o.tag})
		}
	}
	return out
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func (s *schemas) operation(o operation) object {
	var params []any
	for _, m := range placeholder.FindAllStringSubmatch(o.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range o.query {
		params = append(params, object{"name": p.name, "in": "query", "description": p.text, "schema": p.schema()})
	}
	out := object{
		"tags": []string{o.tag}, "summary": o.summary, "operationId": o.id(), "responses": s.responses(o),
	}
	if params != nil {
		out["parameters"] = params
	}
	if o.body != nil {
		out["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": s.of(reflect.TypeOf(o.body))}}}
	}
	if o.open {
		out["security"] = []any{}
	}
	return out
}

func (p parameter) schema() object {
	out := object{"type": "string"}
	if p.number {
		out = object{"type": "integer", "minimum": 0}
	}
	if p.most > 0 {
		out["minimum"], out["maximum"] = 1, p.most
	}
	if p.many {
		out = object{"type": "array", "items": out}
	}
	return out
}

// id names an operation after its method and path.
func (o operation) id() string {
	words := strings.FieldsFunc(strings.TrimPrefix(o.path, "/api/v1"), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	id := strings.ToLower(o.method)
	for _, w := range words {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	return id
}

func (s *schemas) responses(o operation) object {
	good := object{"description": http.StatusText(o.status)}
	media := stdcmp.Or(o.media, "application/json")
	if o.answer != nil {
		schema := s.of(reflect.TypeOf(o.answer))
		content := object{media: object{"schema": schema}}
		if media != "application/json" && reflect.TypeOf(o.answer).Kind() == reflect.Struct {
			content = object{media: object{"schema": object{"type": "string"}, "x-document": schema}} // one for each line or event
		}
		good["content"] = content
	}
	refusals := map[int]bool{}
	for _, status := range o.refusals {
		refusals[status] = true
	}
	if !o.open {
		refusals[http.StatusBadRequest], refusals[http.StatusUnauthorized], refusals[http.StatusForbidden] = true, true, true
		refusals[http.StatusInternalServerError], refusals[http.StatusGatewayTimeout] = true, true
		refusals[http.StatusNotFound] = true // also: this process has no such part
	}
	if o.body != nil {
		refusals[http.StatusRequestEntityTooLarge] = true
	}
	out := object{strconv.Itoa(o.status): good}
	for status := range maps.Keys(refusals) {
		out[fmt.Sprint(status)] = object{"$ref": "#/components/responses/Refused"}
	}
	if o.open { // says the same in other words
		out["503"] = object{"description": http.StatusText(http.StatusServiceUnavailable), "content": object{
			media: object{"schema": s.of(reflect.TypeOf(o.answer))}, adminapi.ProblemType: object{"schema": s.of(reflect.TypeFor[adminapi.Problem]())},
		}}
	}
	return out
}

// noQueues has a name that none of its methods has.
type noQueues = admin.Queues

// Every call that the server answers is described, and no other one.
func TestEveryCallIsDescribed(t *testing.T) {
	flows := flowapi.NewServer(nil, nil)
	pass := http.NotFoundHandler()
	api, err := admin.New(admin.Config{
		Address: adminapi.DefaultAddress, Description: apidoc.Document(), Flows: flows, Page: pass, Extra: pass, Livez: pass, Readyz: pass, Healthz: pass,
		Queues: struct{ noQueues }{}, Triage: new(triage.Service), Steering: struct{ admin.Steering }{},
		Outboxes: func(context.Context) []adminapi.Outbox { return nil },
		Health:   func() any { return nil }, Top: func(adminapi.TopQuery) adminapi.Top { return adminapi.Top{} },
	}, struct{ admin.Backend }{}, new(admin.Hub))
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"/", "/api/", adminapi.PathFlows, admin.PathExtra} // the page, what nobody has, the calls of flows, and the demonstration's
	var want, got []string
	for _, pattern := range append(api.Calls(), flows.Calls()...) {
		if !slices.Contains(others, pattern) {
			want = append(want, pattern)
		}
	}
	for _, o := range operations() {
		got = append(got, o.method+" "+o.path)
	}
	slices.Sort(want)
	slices.Sort(got)
	want = slices.Compact(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answered (-) and described (+):\n%s", diff)
	}
}
