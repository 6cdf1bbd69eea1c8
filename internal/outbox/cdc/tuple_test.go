package cdc

import (
	"encoding/binary"
	"reflect"
	"testing"
)

// message makes a message of a change.
func message(kind byte, parts ...any) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, 7)
	for _, p := range parts {
		switch p := p.(type) {
		case byte:
			b = append(b, p)
		case []string: // nil: null; unchanged: as said
			b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
			for _, v := range p {
				switch v {
				case "null":
					b = append(b, 'n')
				case "unchanged":
					b = append(b, 'u')
				default:
					b = binary.BigEndian.AppendUint32(append(b, 't'), uint32(len(v)))
					b = append(b, v...)
				}
			}
		}
	}
	return b
}

func TestReadChange(t *testing.T) {
	one, two := []Value{{Text: []byte("1")}, {Null: true}}, []Value{{Text: []byte("2")}, {Unchanged: true}}
	for _, c := range []struct {
		name string
		b    []byte
		want Change
	}{
		{"insert", message('I', byte('N'), []string{"1", "null"}), Change{Op: Insert, New: one}},
		{"update", message('U', byte('N'), []string{"2", "unchanged"}), Change{Op: Update, New: two}},
		{"update of a key", message('U', byte('K'), []string{"1", "null"}, byte('N'), []string{"2", "unchanged"}), Change{Op: Update, Old: one, KeyOnly: true, New: two}},
		{"update with the old row", message('U', byte('O'), []string{"1", "null"}, byte('N'), []string{"2", "unchanged"}), Change{Op: Update, Old: one, New: two}},
		{"delete", message('D', byte('K'), []string{"1", "null"}), Change{Op: Delete, Old: one, KeyOnly: true}},
	} {
		id, got, err := readChange(c.b)
		if err != nil || id != 7 || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: relation %d, %+v, %v; want %+v", c.name, id, got, err, c.want)
		}
		for n := range c.b { // a message that is cut off
			if _, _, err := readChange(c.b[:n]); err == nil {
				t.Errorf("%s: no error after %d of %d bytes", c.name, n, len(c.b))
			}
		}
	}
}

func FuzzReadChange(f *testing.F) {
	f.Add(message('U', byte('K'), []string{"1", "null"}, byte('N'), []string{"2", "unchanged"}))
	f.Add([]byte("I\x00\x00\x00\x01N\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, c, err := readChange(b)
		if err != nil {
			return
		}
		n := 0
		for _, v := range append(c.Old, c.New...) {
			n += len(v.Text)
		}
		if n > len(b) {
			t.Fatalf("%d bytes of values in %d bytes", n, len(b))
		}
	})
}
