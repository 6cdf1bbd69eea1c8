package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// exchange is a request and its answer on the wire to a caller.
type exchange struct {
	from caller
	req  *h1.Request
	id   string // of the request

	resp  h1.Head // of the answer
	lines []byte  // encoded fields of resp
}

// problem answers with a problem document, for any Accept field.
func (x *exchange) problem(p problem.Document, extra ...h1.Field) {
	p.Type = problem.Prefix + p.Type
	p.Title = http.StatusText(p.Status)
	p.Instance = x.id
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers always encode
		x.from.Abort()
		return
	}
	x.document(p.Status, "application/problem+json", append(body, '\n'), extra)
}

func (x *exchange) document(status int, kind string, body []byte, extra []h1.Field) {
	if x.isGRPC() {
		x.grpcDocument(status, body, extra)
		return
	}
	fields := append(x.resp.Fields[:0],
		h1.Field{Name: "Content-Type", Value: kind, Key: h1.ContentType},
		h1.Field{Name: "Cache-Control", Value: "no-store"},
		h1.Field{Name: "X-Request-Id", Value: x.id, Key: h1.RequestID},
	)
	fields = append(fields, extra...)
	x.resp = h1.Head{Status: status, Reason: http.StatusText(status), Fields: fields, Length: int64(len(body))}
	if x.req.Method == "HEAD" {
		x.resp.Fields = append(fields, h1.Field{Name: "Content-Length", Value: strconv.Itoa(len(body)), Key: h1.ContentLength})
		x.resp.Bare = true
	}
	if x.from.Begin(&x.resp) != nil || x.from.Write(body) != nil || x.from.End(nil) != nil {
		x.from.Abort()
	}
}

// json answers with a JSON document that the gateway makes.
func (x *exchange) json(status int, v any, extra ...h1.Field) {
	body, err := json.Marshal(v)
	if err != nil {
		x.from.Abort()
		return
	}
	x.document(status, "application/json", append(body, '\n'), extra)
}

// send answers with something that is not from a worker.
func (x *exchange) send(status int, fields []h1.Field, body []byte) {
	fields = append(fields, h1.Field{Name: "X-Request-Id", Value: x.id, Key: h1.RequestID})
	x.resp = h1.Head{Status: status, Reason: http.StatusText(status), Fields: fields, Length: int64(len(body)), Bare: admission.Bodiless(status)}
	if x.req.Method == "HEAD" && !x.resp.Bare {
		x.resp.Fields = append(fields, h1.Field{Name: "Content-Length", Value: strconv.Itoa(len(body)), Key: h1.ContentLength})
		x.resp.Bare = true
	}
	if x.from.Begin(&x.resp) != nil || x.from.Write(body) != nil || x.from.End(nil) != nil {
		x.from.Abort()
	}
}

// grpcDocument answers a gRPC call in place of a document: with its code, and its text as the message.
func (x *exchange) grpcDocument(status int, body []byte, extra []h1.Field) {
	var p problem.Document // or a similar document
	message := strings.TrimSpace(string(body))
	if json.Unmarshal(body, &p) == nil && p.Detail != "" {
		message = p.Detail
		for _, more := range [...]string{p.Reason, p.Rule} {
			if more != "" {
				message += " (" + more + ")"
			}
		}
	}
	fields := append(x.resp.Fields[:0],
		h1.Field{Name: "Content-Type", Value: "application/grpc", Key: h1.ContentType},
		h1.Field{Name: "Grpc-Status", Value: strconv.Itoa(grpcStatus(status, p.Type))},
		h1.Field{Name: "Grpc-Message", Value: grpcMessage(message)},
		h1.Field{Name: "Grpc-Status-Details-Bin", Value: grpcDetails(grpcStatus(status, p.Type), message, &p, x.id, extra)},
		h1.Field{Name: "X-Request-Id", Value: x.id, Key: h1.RequestID},
	)
	x.resp = h1.Head{Status: http.StatusOK, Reason: http.StatusText(http.StatusOK), Fields: append(fields, extra...), Length: 0}
	if x.from.Begin(&x.resp) != nil || x.from.End(nil) != nil {
		x.from.Abort()
	}
}

// isGRPC reports whether the request is a call of gRPC.
func (x *exchange) isGRPC() bool {
	const kind = "application/grpc"
	got := x.first(h1.ContentType)
	return len(got) >= len(kind) && strings.EqualFold(got[:len(kind)], kind) &&
		(len(got) == len(kind) || got[len(kind)] == '+' || got[len(kind)] == ';')
}

// first returns the first value of the field, or "".
func (x *exchange) first(k h1.Key) string {
	for i := range x.req.Fields {
		if x.req.Fields[i].Key == k {
			return x.req.Fields[i].Value
		}
	}
	return ""
}

// wantsStream reports whether x asks for a stream.
func (x *exchange) wantsStream() bool {
	accept := ""
	for i := range x.req.Fields {
		if f := &x.req.Fields[i]; f.Key == h1.Other && h1.Fold(f.Name, "accept") {
			accept = f.Value
			break
		}
	}
	return admission.AsksForStream(x.req.Upgrade, accept)
}
