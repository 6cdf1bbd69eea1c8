package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
)

// Tag marks the processes of one job of one owner. It is kept in the hard
// limit of RLIMIT_RTTIME, as some 73,000 years of uninterrupted real-time
// computing; 0 is none.
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

// NewTag makes the tag of this process's seq-th job; seq counts round. Marks
// often differ in their last digit alone, which has to change the few bits of
// the hash that there is room for.
func NewTag(mark string, seq uint64) Tag {
	sum := sha256.Sum256([]byte(mark))
	h := binary.BigEndian.Uint64(sum[:]) >> (64 - markBits)
	return tagBit | Tag(h)<<(seqBits+pidBits) |
		Tag(os.Getpid()&(1<<pidBits-1))<<seqBits | Tag(seq&(1<<seqBits-1))
}

// Valid reports whether b can have been made by NewTag.
func (b Tag) Valid() bool { return b >= tagBit && b < 2*tagBit }

// SameMark reports whether two tags are of owners of the same mark.
func (b Tag) SameMark(c Tag) bool { return b>>(seqBits+pidBits) == c>>(seqBits+pidBits) }

// Owner returns the id of the process that gave the tag.
func (b Tag) Owner() int { return int(b>>seqBits) & (1<<pidBits - 1) }

// Family says which processes belong together. One of the signs is enough; a sign
// that is zero is none.
type Family struct {
	Session  int    // the session's id, while its leader is not reaped
	Group    int    // likewise
	Tag      Tag    //
	Variable string // "KEY=value" in the environment
}

// hasVariable reports whether an environment as the kernel shows it has a
// variable, "KEY=value", or "KEY=" for the start of one.
func hasVariable(environ []byte, variable string) bool {
	return bytes.Contains(append(append([]byte{0}, environ...), 0), []byte("\x00"+variable+"\x00"))
}

// Limits are what one process may use. Those that are zero do not change.
type Limits struct {
	Data  int64 // bytes that it may write to
	CPU   int64 // seconds of processor time; SIGKILL comes one second later
	Tasks int64 // processes and threads of its user; does not bind root
	Tag   Tag
}
