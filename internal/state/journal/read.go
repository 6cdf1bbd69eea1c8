package journal

import (
	"encoding/binary"
	"fmt"
)

// found is the content of a journal's file.
type found struct {
	records    []Record
	generation uint32
	run        uint64
	note       string
	unreadable bool // it is not one of our journals
}

// read parses the content of any file.
func read(content []byte, boot [16]byte) found {
	if len(content) == 0 {
		return found{}
	}
	h, ok := decodeHeader(content)
	if !ok {
		return found{unreadable: true, note: "the file was not a journal, or its beginning was damaged"}
	}
	f := found{generation: h.generation, run: h.run}
	switch {
	case h.clean:
		return f
	case h.boot != boot:
		f.note = "the machine has restarted since the journal was written; the work in flight is not blamed for that"
		return f
	}
	whole := content[headerSize:]
	if len(whole) != int(h.slots)*slotSize {
		f.note = fmt.Sprintf("the journal has %d bytes of slots instead of %d", len(whole), int(h.slots)*slotSize)
	}
	torn := 0
	for ; len(whole) >= slotSize; whole = whole[slotSize:] {
		var s slot
		for i := range s {
			s[i] = binary.NativeEndian.Uint64(whole[8*i:])
		}
		switch {
		case s[slotState] == 0:
		case s[slotState] == live(h.generation) && s[slotSum] == s.sum(s[slotState]):
			f.records = append(f.records, s.decode())
		default:
			torn++
		}
	}
	if torn > 0 {
		if f.note != "" {
			f.note += "; "
		}
		f.note += fmt.Sprintf("%d damaged slots of the journal were ignored", torn)
	}
	return f
}
