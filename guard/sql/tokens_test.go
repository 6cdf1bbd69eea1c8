package sql

import (
	"fmt"
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	for _, c := range []struct{ dialect, text, want string }{
		{"postgres", `SELECT "a b", E'x\'y' -- c
 FROM t /* /* */ */ WHERE a=$1 AND b<1.5e3;`, `0SELECT 1"a b" 5, 2E'x\'y' 0FROM 0t 0WHERE 0a 5= 4$1 0AND 0b 5< 31.5e3 5;`},
		{"mysql", "SELECT `a`, \"b\" /*!40101 LIMIT 5 */ # c", "0SELECT 1`a` 5, 2\"b\" 0LIMIT 35"},
		{"postgres", "SELECT 'open", "0SELECT"},
		{"", "", ""},
	} {
		var got []string
		Tokens([]byte(c.text), c.dialect, func(kind TokenKind, start, end int) {
			got = append(got, fmt.Sprintf("%d%s", kind, c.text[start:end]))
		})
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.text, s, c.want)
		}
	}
}
