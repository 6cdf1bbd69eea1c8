package journal

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A restart of the machine is nobody's fault.
func TestMachineRestarted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.journal")
	j, _, err := open(path, 4, [16]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	j.Begin(0, Record{Start: time.Unix(1, 0)})
	content, err := os.ReadFile(path) // as it is after a kill
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if f := read(content, [16]byte{1}); len(f.records) != 1 || f.note != "" {
		t.Errorf("in the same run of the machine: %+v", f)
	}
	if f := read(content, [16]byte{2}); len(f.records) != 0 || f.note == "" || f.unreadable {
		t.Errorf("in the next run of the machine: %+v", f)
	}
}

func TestBootID(t *testing.T) {
	if _, err := os.Stat("/proc/sys/kernel/random/boot_id"); err != nil {
		t.Skip("this system does not tell its runs apart")
	}
	if id := bootID(); id == [16]byte{} || id != bootID() {
		t.Errorf("boot id %x is not one", id)
	}
}

// A whole slot of an earlier life has been reported then.
func TestStaleSlot(t *testing.T) {
	content := header{slots: 2, generation: 7}.encode()
	for _, generation := range []uint32{6, 7} {
		content = append(content, encodeSlot(Record{Successes: uint16(generation)}, generation)...)
	}
	if f := read(content, [16]byte{}); len(f.records) != 1 || f.records[0].Successes != 7 {
		t.Errorf("%+v", f)
	}
}

func encodeSlot(r Record, generation uint32) (content []byte) {
	var s slot
	s.encode(r)
	s[slotState] = live(generation)
	s[slotSum] = s.sum(s[slotState])
	for _, word := range s {
		content = binary.NativeEndian.AppendUint64(content, word)
	}
	return content
}

// FuzzRead: whatever is in the file, nothing but whole records comes out.
func FuzzRead(f *testing.F) {
	whole := header{slots: 3, generation: 7}.encode()
	for i := range 3 {
		whole = append(whole, encodeSlot(Record{Successes: uint16(i)}, 7)...)
	}
	if got := read(whole, [16]byte{}); len(got.records) != 3 || got.note != "" {
		f.Fatalf("the seed is no journal: %+v", got)
	}
	f.Add(whole, 0, byte(0), len(whole))
	f.Add(whole, 4096, byte(1), len(whole))
	f.Add(whole, 9, byte(0xff), 4100)
	f.Add([]byte("garbage"), 0, byte(0), 7)
	f.Fuzz(func(t *testing.T, content []byte, at int, flip byte, size int) {
		content = append([]byte(nil), content...)
		if size >= 0 && size < len(content) {
			content = content[:size]
		}
		if at >= 0 && at < len(content) {
			content[at] ^= flip
		}
		got := read(content, [16]byte{})
		if len(got.records) > len(content)/slotSize {
			t.Errorf("%d records in %d bytes", len(got.records), len(content))
		}
		if got.unreadable && (got.note == "" || len(got.records) > 0) {
			t.Errorf("unreadable, yet %+v", got)
		}
	})
}
