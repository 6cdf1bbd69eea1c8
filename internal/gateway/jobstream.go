package gateway

import (
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// wantsStream is AsksForStream of j.
func (j *job) wantsStream() bool {
	accept := ""
	for i := range j.req.Fields {
		if f := &j.req.Fields[i]; f.Key == h1.Other && h1.Fold(f.Name, "accept") {
			accept = f.Value
			break
		}
	}
	return admission.AsksForStream(j.req.Upgrade, accept)
}

// contentType returns the answer's media type with its parameters.
func contentType(fields []h1.Field) string {
	for i := range fields {
		if fields[i].Key == h1.ContentType {
			return fields[i].Value
		}
	}
	return ""
}
