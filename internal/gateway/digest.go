package gateway

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
)

// streamer is a [Printer] that can digest a body while it streams. The digest completes the fingerprint, which began with
// the first bytes of the body.
type streamer interface {
	Stream(work bezoar.Fingerprint) *fingerprint.Stream
}

// digester digests one body; without a stream it does nothing.
type digester struct{ s *fingerprint.Stream }

func (j *job) digester() digester {
	if p, ok := j.route.Printer.(streamer); ok {
		return digester{p.Stream(j.identity.work)}
	}
	return digester{}
}

func (d digester) write(p []byte) {
	if d.s != nil {
		_, _ = d.s.Write(p) // never fails
	}
}

func (d digester) sum() (f bezoar.Fingerprint) {
	if d.s != nil {
		f = d.s.Sum()
	}
	return f
}

func (d digester) close() {
	if d.s != nil {
		d.s.Close()
	}
}
