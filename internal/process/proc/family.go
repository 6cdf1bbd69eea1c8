package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
)

// Tag marks the processes of one job of one owner. It is kept in the hard limit of RLIMIT_RTTIME, where it means some 73,000
// years of uninterrupted real-time computing; 0 means no tag.
//
//	bit 61    set
//	60 to 41  a hash of the owner's mark
//	40 to 19  the owner's process id
//	18 to 0   the job's number
type Tag uint64

const (
	seqBits, pidBits, markBits = 19, 22, 20
	tagBit                     = Tag(1) << (seqBits + pidBits + markBits)
)

// NewTag returns the tag of this process's job number seq, which may wrap around. Marks often differ only in their last
// digit, so the hash must spread that over its few bits.
func NewTag(mark string, seq uint64) Tag {
	sum := sha256.Sum256([]byte(mark))
	h := binary.BigEndian.Uint64(sum[:]) >> (64 - markBits)
	return tagBit | Tag(h)<<(seqBits+pidBits) |
		Tag(os.Getpid()&(1<<pidBits-1))<<seqBits | Tag(seq&(1<<seqBits-1))
}

// Valid reports whether NewTag can have returned b.
func (b Tag) Valid() bool { return b >= tagBit && b < 2*tagBit }

// SameMark reports whether the owners of two tags have the same mark.
func (b Tag) SameMark(c Tag) bool { return b>>(seqBits+pidBits) == c>>(seqBits+pidBits) }

// Owner returns the id of the process that created the tag.
func (b Tag) Owner() int { return int(b>>seqBits) & (1<<pidBits - 1) }

// Family describes processes that belong together. One matching field is enough; a zero field matches nothing.
type Family struct {
	Session  int    // the session's id, while its leader is not reaped
	Group    int    // likewise
	Tag      Tag    //
	Variable string // "KEY=value" in the environment
}

// hasVariable reports whether an environment in the kernel's format contains "KEY=value", or, for "KEY=", any variable that
// begins so.
func hasVariable(environ []byte, variable string) bool {
	return bytes.Contains(append(append([]byte{0}, environ...), 0), []byte("\x00"+variable+"\x00"))
}

// Limits are the limits of one process. A zero field changes nothing.
type Limits struct {
	Data  int64 // bytes of writable memory
	CPU   int64 // seconds of processor time; SIGKILL comes one second later
	Tasks int64 // processes and threads of its user; does not bind root
	Tag   Tag
}

// Files is a limit of open files.
type Files struct{ Soft, Max uint64 }
