package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
