package kafka

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/worker"
)

// receipt identifies one delivery of a record. A later process can read it too.
type receipt struct {
	life      string
	serial    int // of the assignment
	partition int32
	offset    int64
	stamp     int64 // timestamp of the record; it differs after a topic was recreated
	group     string
}

func (r receipt) String() string {
	return fmt.Sprintf("%s/%d/%d/%d/%d/%s", r.life, r.serial, r.partition, r.offset, r.stamp, r.group)
}

func parseReceipt(text string) (r receipt, err error) {
	f := strings.SplitN(text, "/", 6)
	if len(f) != 6 {
		return r, fmt.Errorf("%.100q is not a receipt", text)
	}
	var n [4]int64
	for i := range n {
		if n[i], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
			return r, fmt.Errorf("%.100q is not a receipt", text)
		}
	}
	return receipt{f[0], int(n[0]), int32(n[1]), n[2], n[3], f[5]}, nil
}

// place identifies a record.
type place struct {
	partition int32
	offset    int64
	stamp     int64
}

// prior is the outcome of an earlier process's record: done but not committed, or delayed
// until a time.
type prior struct {
	done  bool
	until time.Time
}

// maxPrior limits the stored priors. There are at most as many as the earlier process had running.
const maxPrior = 20_000

// noted stores a worker's report about an earlier process's record until the record is
// fetched. It does so only if err is errPrior. The caller holds the lock.
func (s *Source) noted(m worker.Message, p prior, err error) error {
	if err != errPrior { //nolint:errorlint // it is ours, and never wrapped
		return err
	}
	r, err := parseReceipt(m.Receipt)
	if err != nil || r.group != s.cfg.Group {
		return fmt.Errorf("%w: the record belongs to consumer group %.100q", worker.ErrLost, r.group)
	}
	at := place{r.partition, r.offset, r.stamp}
	if part := s.parts[r.partition]; part != nil {
		if e := part.byOffset[r.offset]; e != nil && e.record != nil && stampOf(e.record) == r.stamp {
			s.recall(e, p)
			return nil
		}
	}
	if len(s.earlier) < maxPrior {
		s.earlier[at] = p
	}
	return nil
}

// recall applies a stored report to a fetched record. The caller holds the lock.
func (s *Source) recall(e *entry, p prior) {
	switch d := time.Until(p.until); {
	case e.state == out || e.state == ended:
	case p.done:
		s.end(e)
	case d > 0 && e.state == ready:
		e.state = waiting
		s.delay(e, d)
	}
}
