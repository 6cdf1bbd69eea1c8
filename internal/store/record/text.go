package record

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
)

// mark is the prefix of a string that JSON or the database could not hold as it is.
const mark = "base64:"

// EncodeVerdict encodes a canonical verdict.
func EncodeVerdict(v bezoar.Verdict) (string, error) {
	v = CloneVerdict(v)
	if err := mapVerdict(&v, escape); err != nil {
		return "", err
	}
	return encode("verdict", v.ID, v)
}

// DecodeVerdict decodes the result of [EncodeVerdict].
func DecodeVerdict(doc string) (bezoar.Verdict, error) {
	var v bezoar.Verdict
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		return v, fmt.Errorf("read a stored verdict (%.80q…): %w", doc, err)
	}
	if err := mapVerdict(&v, unescape); err != nil {
		return v, fmt.Errorf("read stored verdict %s: %w", v.ID, err)
	}
	return v, nil
}

// LetterText is a letter in the form of tables, split by the effect of a further copy of
// the same work: Kept stays, Found is replaced, Copies is increased. The body has a column
// of its own, so that lists need not read it.
type LetterText struct {
	Kept   string // id, fingerprint, variant, shape, fleet, route, first, request
	Found  string // verdict, class, reason, last, evidence
	Copies int64
	Body   []byte
}

// EncodeLetter encodes a canonical letter.
func EncodeLetter(l bezoar.Letter) (LetterText, error) {
	l = CloneLetter(l)
	text := LetterText{Copies: l.Copies, Body: l.Request.Body}
	if err := mapLetter(&l, escape); err != nil {
		return text, err
	}
	l.Request.Body = nil
	var err error
	text.Kept, err = encode("letter", l.ID, kept{
		l.ID, l.Fingerprint, l.Variant, l.Shape, l.Fleet, l.Route, l.First, l.Request,
	})
	if err != nil {
		return text, err
	}
	text.Found, err = encode("letter", l.ID, found{l.Verdict, l.Class, l.Reason, l.Last, l.Evidence})
	return text, err
}

// DecodeLetter decodes the result of [EncodeLetter].
func DecodeLetter(text LetterText) (bezoar.Letter, error) {
	var l bezoar.Letter
	if err := json.Unmarshal([]byte(text.Kept), &l); err != nil {
		return l, fmt.Errorf("read a stored letter (%.80q…): %w", text.Kept, err)
	}
	if err := json.Unmarshal([]byte(text.Found), &l); err != nil {
		return l, fmt.Errorf("read stored letter %s (%.80q…): %w", l.ID, text.Found, err)
	}
	if err := mapLetter(&l, unescape); err != nil {
		return l, fmt.Errorf("read stored letter %s: %w", l.ID, err)
	}
	l.Copies = text.Copies
	l.Request.Body = text.Body
	return l, nil
}

// kept and found together hold the fields of a bezoar.Letter, with its names: decoding
// merges them.
type kept struct {
	ID          string             `json:"id"`
	Fingerprint bezoar.Fingerprint `json:"fingerprint"`
	Variant     bezoar.Fingerprint `json:"variant,omitzero"`
	Shape       bezoar.Fingerprint `json:"shape"`
	Fleet       string             `json:"fleet"`
	Route       string             `json:"route,omitempty"`
	First       time.Time          `json:"first"`
	Request     bezoar.Request     `json:"request"`
}

type found struct {
	Verdict  string            `json:"verdict"`
	Class    bezoar.Class      `json:"class"`
	Reason   string            `json:"reason"`
	Last     time.Time         `json:"last"`
	Evidence []bezoar.Evidence `json:"evidence,omitempty"`
}

func encode(kind, id string, v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the text is for a database shell, not for a browser
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("write %s %s: %w", kind, id, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// escape converts any string to a form that JSON and PostgreSQL accept; unescape reverses
// it. A string that begins with the mark is escaped as well, so that the encoding is
// unambiguous.
func escape(s string) (string, error) {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") && !strings.HasPrefix(s, mark) {
		return s, nil
	}
	return mark + base64.StdEncoding.EncodeToString([]byte(s)), nil
}

func unescape(s string) (string, error) {
	coded, marked := strings.CutPrefix(s, mark)
	if !marked {
		return s, nil
	}
	plain, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return "", fmt.Errorf("%.40q: %w", s, err)
	}
	return string(plain), nil
}
