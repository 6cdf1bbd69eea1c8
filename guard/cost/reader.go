package cost

import (
	"fmt"
	"time"
)

// Query is what a reader reads.
type Query struct {
	// Method, Path (decoded) and RawQuery are those of an HTTP request; empty otherwise.
	Method, Path, RawQuery string

	ContentType     string
	ContentEncoding string

	// Body is a request's body, or the text of a statement, a pattern or a document.
	Body []byte

	// Dialect: SQL postgres, mysql; regex js, python, pcre, ruby, java, lucene, re2, postgres.
	// Readers also know common other names (pg, postgresql, mariadb, javascript …).
	Dialect string

	// Args are the values of placeholders, or GraphQL variables as one map[string]any.
	Args []any
}

// Options is how to read. Its zero value is useful.
type Options struct {
	Explain  bool // also fill in Path, Detail and Target
	Hints    Hints
	Defaults Defaults

	// Now is the time of the query. Without it, what begins at a date and does not
	// end has no known length.
	Now time.Time

	// Bounds; 0 is the reader's own default. Beyond one, Read measures
	// BodyBytes or BodyDepth, or gives an *Unreadable; it never goes on.
	MaxBytes  int
	MaxDepth  int
	MaxTokens int

	// Denied are functions, in lower case, beside the reader's own list.
	Denied map[string]struct{}

	// Room is asked for memory before a reader takes more than FreeRoom of it beside
	// the query, as for a body that is unpacked. Nil: there is always room.
	Room Room
}

// FreeRoom is how many bytes of working memory a reader takes unasked.
const FreeRoom = 256 << 10

// Room bounds the working memory of all readers together.
type Room interface {
	// Take reports whether there is room for n bytes: all that one Read asks for,
	// from its beginning on. It may wait. Without room, Read measures BodyBytes.
	Take(n int) bool
}

// Reader turns queries of one language into measures.
type Reader interface {
	// Read appends the measures of q to dst. The error is an *Unreadable or nil.
	// With an error, the measures up to there are valid.
	Read(dst []Measure, q Query, o Options) ([]Measure, error)
}

// Unreadable says that a query cannot be read, or not fully.
type Unreadable struct {
	Predictor Predictor // Unparsable when 0; or Encoding, BodyDepth …
	Reason    string    // what is wrong, as in `no value after "size"`
	Offset    int       // byte in Query.Body; -1 when it is not there
	Part      int
}

func (u *Unreadable) Error() string {
	if u.Offset < 0 {
		return "cannot read the query: " + u.Reason
	}
	return fmt.Sprintf("cannot read the query: at byte %d: %s", u.Offset, u.Reason)
}
