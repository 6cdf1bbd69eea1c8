package cli

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/rowfeed"
	"github.com/bezoar-dev/bezoar/sift"
)

// siftProgress prints the progress after each run.
func siftProgress(p *longWork) func(sift.Progress) {
	return func(at sift.Progress) {
		p.tell(int64(at.Done), int64(at.Rows), func() string {
			line := fmt.Sprintf("%s of %s rows done", grouped(at.Done), grouped(at.Rows))
			if at.Letters > 0 {
				line += fmt.Sprintf(", %s set aside", grouped(at.Letters))
			}
			if at.Suspects > 0 {
				line += fmt.Sprintf(", %s in doubt", grouped(at.Suspects))
			}
			line += fmt.Sprintf("; %s", count(int64(at.Runs), "run", "runs"))
			if at.Failed > 0 {
				line += fmt.Sprintf(", %s failed", grouped(at.Failed))
			}
			return line
		})
	}
}

// grouped writes a number as people read it: 1,000,000.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sifted is what --json prints.
type sifted struct {
	ID       string           `json:"id"`
	Rows     int              `json:"rows"`
	Done     int              `json:"done"`      // with those of earlier runs of the same state
	SetAside int              `json:"set_aside"` // likewise
	Runs     int              `json:"runs"`
	Failed   int              `json:"failed"`
	Retries  int              `json:"retries"`
	Batches  int              `json:"batches"`
	Bound    int              `json:"bound"`    // k·log2(n), rounded up
	Overhead int              `json:"overhead"` // and what comes on top
	Seconds  float64          `json:"seconds"`
	Limits   string           `json:"limits"`
	Together []siftedPart     `json:"together"`
	Letters  []rowfeed.Letter `json:"letters"` // at most rowfeed.MaxListed
	Error    string           `json:"error,omitempty"`
}

type siftedPart struct {
	First   int          `json:"first"`
	Last    int          `json:"last"`
	Class   bezoar.Class `json:"class"`
	Failure string       `json:"failure"`
	Size    bool         `json:"size"` // too large, which is no fault
}

// maxTable bounds the letters in the table.
const maxTable = 50

// report prints the result. Stdout belongs to CMD unless --output is given.
func (c *siftCmd) report(s *session, r rowfeed.Report, took time.Duration, err error) {
	bound := int(math.Ceil(sift.Bound(r.Rows, r.Summary.Letters)))
	over := sift.Overhead(r.Summary.Letters, r.Batches)
	if s.json {
		out := sifted{
			ID: r.ID, Rows: r.Rows, Done: r.Rows, SetAside: r.Total, Runs: r.Runs, Failed: r.Failed, Retries: r.Retries, Batches: r.Batches,
			Bound: bound, Overhead: over, Seconds: took.Seconds(), Limits: r.Limits,
			Together: []siftedPart{}, Letters: r.Letters,
		}
		out.Done = r.Before + r.Summary.Done - (r.Total - r.Summary.Letters)
		for _, t := range r.Together {
			out.Together = append(out.Together, siftedPart{t.Rows.From + 1, t.Rows.To, t.Class, t.Failure.String(), t.Size})
		}
		if out.Letters == nil {
			out.Letters = []rowfeed.Letter{}
		}
		if err != nil {
			out.Error = err.Error()
		}
		to := &printer{w: s.Stderr}
		if c.Output != "" {
			to = s.out
		}
		_ = to.json(out) // the reader may have closed the pipe
		return
	}
	var input *rowfeed.InputError
	if err != nil && r.Runs == 0 && (r.Rows == 0 || errors.As(err, &input)) {
		return // one line is enough
	}
	p := newPrinter(s.Stderr, s.Getenv)
	if c.DeadLetter == "table" {
		siftTable(p, r)
	}
	for _, t := range r.Together {
		if t.Size {
			p.printf("rows %s–%s took too long together and were run in parts\n", grouped(t.Rows.From+1), grouped(t.Rows.To))
			continue
		}
		p.printf("rows %s–%s failed together and none of them alone: the failure needs several rows, or that many (%s, %s)\n",
			grouped(t.Rows.From+1), grouped(t.Rows.To), t.Class, clean(cut(t.Failure.String(), 200)))
	}
	if r.TogetherMore > 0 {
		p.printf("and %s more of that kind\n", grouped(r.TogetherMore))
	}
	done := r.Before + r.Summary.Done - (r.Total - r.Summary.Letters)
	p.printf("%s of %s rows done, %s set aside, in %s\n", grouped(done), grouped(r.Rows), grouped(r.Total), took.Round(time.Millisecond))
	p.printf("%s", grouped(r.Runs)+" "+plural(r.Runs, "run", "runs"))
	if k := r.Summary.Letters; k > 0 {
		p.printf(", %s failed; the bound is %d·log₂(%s) + overhead = %d + %d", grouped(r.Failed), k, grouped(r.Rows), bound, over)
	} else if r.Failed > 0 {
		p.printf(", %s failed", grouped(r.Failed))
	}
	p.printf("\n")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// said returns the line of stderr that names the failure, with its values; otherwise the failure.
func said(l rowfeed.Letter) string {
	name := l.Type[strings.LastIndexByte(l.Type, '.')+1:]
	for _, line := range slices.Backward(strings.Split(l.Stderr, "\n")) {
		line = strings.TrimSpace(line)
		before, _, found := strings.Cut(line, name)
		if line != "" && (name == "" || found && strings.HasSuffix(l.Type, before+name)) {
			return line
		}
	}
	return sift.Failure{Type: l.Type, Reason: l.Reason, Detail: l.Detail}.String()
}

// siftTable lists the rows that were set aside.
func siftTable(p *printer, r rowfeed.Report) {
	if len(r.Letters) == 0 {
		return
	}
	t := table{head: []string{">ROW", ">LINE", "CLASS", ">RUNS", "FAILURE", "WHERE", "TEXT"}}
	for i, l := range r.Letters {
		if i == maxTable {
			break
		}
		text := string(l.Base64)
		if l.Text != nil {
			text = *l.Text
		}
		at := l.Frame
		at.File = filepath.Base(at.File)
		if l.Frame.File == "" {
			at.File = ""
		}
		t.add(plain(strconv.Itoa(l.Row)), plain(strconv.Itoa(l.Line)), plain(l.Class.String()), plain(strconv.Itoa(l.Runs)),
			plain(cut(said(l), 60)), plain(cut(at.String(), 40)), plain(cut(text, 200)))
	}
	t.write(p, "")
	if more := r.Total - min(len(r.Letters), maxTable); more > 0 {
		p.printf("and %s more; --dead-letter FILE takes all of them\n", grouped(more))
	}
	p.printf("\n")
}
