package sql

// token is one word, literal or sign of a statement. Spaces and comments are not tokens.
type token struct {
	start, end int32 // bytes of the text
	match      int32 // of ( [ CASE the token that closes it, of those what they close; of ? which one it is; else -1
	kind       kind
	word       word // meaning of a bare word or an operator; otherwise none
	hidden     bool // in a comment that only some servers execute
}

type kind uint8

const (
	atEnd      kind = iota
	bare            // a word without quotes
	quoted          // a name in quotes
	text            // a string
	number          //
	param           // ? $1 :name @p1 %s
	operator        //
	openParen       // (
	closeParen      // )
	openBrack       // [
	closeBrack      // ]
	comma           //
	semicolon       //
	dot             //
)

// operand reports whether a value may end with the token, so that a following sign is an
// operator.
func (k kind) operand() bool {
	switch k {
	case bare, quoted, text, number, param, closeParen, closeBrack:
		return true
	default:
		return false
	}
}

// class says what a byte may begin or continue.
type class uint8

const (
	other   class = iota
	space         //
	letter        // begins a word, and goes on with it; every byte beyond ASCII
	digit         //
	quote         // ' " `
	sign          // part of an operator
	bracket       // ( ) [ ] , ; .
	special       // $ : @ ? # { and others that depend on what follows
)

// classes is a table, because every byte of a possibly hostile text is looked up in it.
var classes = [0x80]class{
	' ': space, '\t': space, '\n': space, '\r': space, '\f': space, '\v': space,
	'\'': quote, '"': quote, '`': quote,
	'(': bracket, ')': bracket, '[': bracket, ']': bracket, ',': bracket, ';': bracket, '.': bracket,
	'+': sign, '*': sign, '/': sign, '<': sign, '>': sign, '=': sign, '~': sign, '!': sign, '^': sign, '&': sign, '|': sign, '-': sign,
	'$': special, ':': special, '@': special, '?': special, '#': special, '{': special, '}': special, '%': special, '\\': special,
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit, '5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'_': letter,
	'a': letter, 'b': letter, 'c': letter, 'd': letter, 'e': letter, 'f': letter, 'g': letter, 'h': letter, 'i': letter, 'j': letter,
	'k': letter, 'l': letter, 'm': letter, 'n': letter, 'o': letter, 'p': letter, 'q': letter, 'r': letter, 's': letter, 't': letter,
	'u': letter, 'v': letter, 'w': letter, 'x': letter, 'y': letter, 'z': letter,
	'A': letter, 'B': letter, 'C': letter, 'D': letter, 'E': letter, 'F': letter, 'G': letter, 'H': letter, 'I': letter, 'J': letter,
	'K': letter, 'L': letter, 'M': letter, 'N': letter, 'O': letter, 'P': letter, 'Q': letter, 'R': letter, 'S': letter, 'T': letter,
	'U': letter, 'V': letter, 'W': letter, 'X': letter, 'Y': letter, 'Z': letter,
}

func classOf(c byte) class {
	if c >= 0x80 {
		return letter
	}
	return classes[c]
}
