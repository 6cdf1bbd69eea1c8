package cli

import (
	"io"
	"os"
	"time"
)

// input opens a file, or standard input for -.
func (s *session) input(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(s.Stdin), nil
	}
	return os.Open(file)
}

// show prints the answer to a command: doc with --json, and otherwise what text prints. err is why there is no answer.
func (s *session) show(doc any, err error, text func()) error {
	switch {
	case err != nil:
		return err
	case s.json:
		return s.out.json(doc)
	}
	text()
	return nil
}

// listing says how a list is shown to people.
type listing struct {
	none string // said if nothing is listed; "": the heading is printed alone
	head []string
	row  func(now time.Time, i int) []cell
}

// list prints n items, one in each row. With --json it prints doc, which contains them.
func (s *session) list(doc any, n int, err error, l listing) error {
	return s.show(doc, err, func() {
		if n == 0 && l.none != "" {
			s.say("%s", l.none)
			return
		}
		now := s.now()
		t := table{head: l.head}
		for i := range n {
			t.add(l.row(now, i)...)
		}
		t.write(s.out, "")
	})
}
