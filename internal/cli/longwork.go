package cli

import (
	"fmt"
	"time"
)

// How often progress is printed.
const (
	drawEvery = 100 * time.Millisecond // on a terminal, where a line replaces the previous one
	tellEvery = 10 * time.Second       // elsewhere, where each is a new line
)

// longWork prints the progress of long work on stderr: how much is done, how fast, and how long the rest takes. With --json
// it is silent.
type longWork struct {
	s      *session
	number func(int) string // formats the rate per second
	width  func() int       // of the terminal; nil: there is none, and nothing is drawn
	began  time.Time
	last   time.Time
	first  int64 // done at the start, by an earlier run
	drawn  bool
	begun  bool
}

func newLongWork(s *session) *longWork {
	now := s.now()
	return &longWork{s: s, number: grouped, width: widthOf(s.Stderr, s.Getenv), began: now, last: now}
}

// tell reports that done of total is done; text gives the details. A total of 0 means unknown. Most calls print nothing, so
// it may be called often.
func (p *longWork) tell(done, total int64, text func() string) {
	if !p.begun {
		p.first, p.begun = done, true
	}
	now, every := p.s.now(), tellEvery
	if p.width != nil {
		every = drawEvery
	}
	if p.s.json || now.Sub(p.last) < every {
		return
	}
	p.last = now
	line := text() + p.pace(now, done, total)
	if p.width == nil {
		p.s.say("%s", line)
		return
	}
	fmt.Fprintf(p.s.Stderr, "\r\x1b[K%s", cut(line, p.width()-1))
	p.drawn = true
}

// pace returns the rate and the remaining time.
func (p *longWork) pace(now time.Time, done, total int64) string {
	took := now.Sub(p.began).Seconds()
	if took <= 0 || done <= p.first {
		return ""
	}
	rate := float64(done-p.first) / took
	text := fmt.Sprintf("; %s/s", p.number(int(rate)))
	switch { // 0/s would be useless
	case rate*60 < 1:
		text = fmt.Sprintf("; %s/h", p.number(int(rate*3600)))
	case rate < 1:
		text = fmt.Sprintf("; %s/min", p.number(int(rate*60)))
	}
	if left := total - done; left > 0 {
		text += fmt.Sprintf(", about %s left", span(time.Duration(float64(left)/rate*float64(time.Second))))
	}
	return text
}

// clear removes the line of progress.
func (p *longWork) clear() {
	if p.drawn {
		fmt.Fprint(p.s.Stderr, "\r\x1b[K")
		p.drawn = false
	}
}
