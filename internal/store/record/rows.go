package record

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// ScanVerdict reads the document of a verdict.
func ScanVerdict(scan Scan) (bezoar.Verdict, error) {
	var doc string
	if err := scan(&doc); err != nil {
		return bezoar.Verdict{}, err
	}
	return DecodeVerdict(doc)
}

// ScanLetter reads the part of a letter that lists show.
func ScanLetter(scan Scan) (bezoar.Letter, error) {
	var text LetterText
	if err := scan(&text.Kept, &text.Found, &text.Copies); err != nil {
		return bezoar.Letter{}, err
	}
	return DecodeLetter(text)
}

// VersionColumns are the columns for [ScanVersion].
const VersionColumns = `number, at, who, source, note, sum`

// ScanVersion reads a version of the settings without its text.
func ScanVersion(scan Scan) (live.Version, error) { return scanVersion(scan) }

// ScanWholeVersion reads a version and its text, the last column.
func ScanWholeVersion(scan Scan) (live.Version, error) {
	var text []byte
	v, err := scanVersion(scan, &text)
	v.Text = text
	return v, err
}

func scanVersion(scan Scan, more ...any) (v live.Version, err error) {
	var at int64
	err = scan(append([]any{&v.Number, &at, &v.By, &v.Source, &v.Note, &v.Sum}, more...)...)
	v.At = Time(at)
	return v, err
}
