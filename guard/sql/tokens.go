package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// TokenKind is what a token of [Tokens] is.
type TokenKind uint8

const (
	Word   TokenKind = iota // without quotes: a name, or a word of the language
	Name                    // in quotes
	Text                    // a string, with its quotes and what stands before them
	Number                  //
	Param                   // a placeholder, or a variable
	Sign                    // all else
)

// Tokens calls do for each token of a text in turn, as a Reader takes it apart:
// what lies between two is space and comments. It ends where a Reader would.
func Tokens(body []byte, dialect string, do func(kind TokenKind, start, end int)) {
	var r Reader
	r.begin(nil, &cost.Query{Body: body, Dialect: dialect}, &cost.Options{})
	if len(body) > r.o.MaxBytes {
		return
	}
	r.lexAll()
	for _, t := range r.tokens {
		k := Sign
		switch t.kind {
		case bare:
			k = Word
		case quoted:
			k = Name
		case text:
			k = Text
		case number:
			k = Number
		case param:
			k = Param
		default: // it is one
		}
		do(k, int(t.start), int(t.end))
	}
}
