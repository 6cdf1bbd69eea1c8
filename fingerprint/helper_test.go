package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

// writeFalling writes doc indented, the names of its objects in falling order.
func writeFalling(out *bytes.Buffer, doc any) {
	switch v := doc.(type) {
	case map[string]any:
		out.WriteString("{\n")
		names := slices.Sorted(maps.Keys(v))
		slices.Reverse(names)
		for i, name := range names {
			if i > 0 {
				out.WriteString(" ,\n")
			}
			fmt.Fprintf(out, "  %q : ", name)
			writeFalling(out, v[name])
		}
		out.WriteString("\n}")
	case []any:
		out.WriteString("[ ")
		for i, e := range v {
			if i > 0 {
				out.WriteString(" , ")
			}
			writeFalling(out, e)
		}
		out.WriteString(" ]")
	default:
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out.Write(b)
	}
}

// fieldList is a request's fields: names and values by turns.
type fieldList []string

func (l fieldList) NumField() int { return len(l) / 2 }

func (l fieldList) Field(i int) (name, value string) { return l[2*i], l[2*i+1] }

// sending returns in with these fields.
func sending(in *fingerprint.Input, fields ...string) *fingerprint.Input {
	out := *in
	out.Fields = fieldList(fields)
	return &out
}
