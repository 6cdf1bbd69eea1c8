package cost

import (
	"fmt"
	"time"
)

// Query is the input of a reader.
type Query struct {
	// Method, Path (decoded) and RawQuery are set for HTTP requests only.
	Method, Path, RawQuery string

	ContentType     string
	ContentEncoding string

	// Body is the body of a request, or the text of a statement, a pattern or a document.
	Body []byte

	// Dialect is postgres or mysql for SQL, and js, python, pcre, ruby, java, lucene, re2
	// or postgres for regular expressions. Readers accept other common names as well (pg,
	// postgresql, mariadb, javascript …).
	Dialect string

	// Args holds the values of placeholders, or the GraphQL variables as one
	// map[string]any.
	Args []any
}

// Options configures a reader. The zero value is useful.
type Options struct {
	Explain  bool // also set Path, Detail and Target
	Hints    Hints
	Defaults Defaults

	// Now is the time of the query. Without it, an open date range has no known length.
	Now time.Time

	// Limits; 0 selects the reader's own default. If a query exceeds one, Read stops and
	// measures BodyBytes or BodyDepth, or returns an *Unreadable.
	MaxBytes  int
	MaxDepth  int
	MaxTokens int

	// Denied lists functions, in lower case, in addition to the reader's own list.
	Denied map[string]struct{}

	// Room is asked before a reader uses more than FreeRoom bytes of memory beside the
	// query, for example to unpack a body. Nil: unlimited.
	Room Room
}

// FreeRoom is the working memory in bytes that a reader may use without asking.
const FreeRoom = 256 << 10

// Room bounds the working memory of all readers together.
type Room interface {
	// Take reports whether there is room for n bytes, the total of one Read so far. It may
	// wait. If it returns false, Read measures BodyBytes.
	Take(n int) bool
}

// Reader converts queries of one language to measures.
type Reader interface {
	// Read appends the measures of q to dst. The error is an *Unreadable or nil. If there
	// is an error, the measures found before it are valid.
	Read(dst []Measure, q Query, o Options) ([]Measure, error)
}

// Unreadable means that a query cannot be read, or not completely.
type Unreadable struct {
	Predictor Predictor // 0: Unparsable; or Encoding, BodyDepth …
	Reason    string    // the problem, as in `no value after "size"`
	Offset    int       // byte in Query.Body; -1: not in the body
	Part      int
}

func (u *Unreadable) Error() string {
	if u.Offset < 0 {
		return "cannot read the query: " + u.Reason
	}
	return fmt.Sprintf("cannot read the query: at byte %d: %s", u.Offset, u.Reason)
}
