package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// TokenKind is the kind of a token of [Tokens].
type TokenKind uint8

const (
	Word   TokenKind = iota // without quotes: a name, or a word of the language
	Name                    // in quotes
	Text                    // a string, with its quotes and prefix
	Number                  //
	Param                   // a placeholder, or a variable
	Sign                    // any other token
)

// Tokens calls do for each token of a text in order, as a Reader splits it: the text
// between two tokens is space and comments. It stops where a Reader would.
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
