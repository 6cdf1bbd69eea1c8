package demo

import (
	"os"

	"golang.org/x/term"
)

// Terminal returns what tells f's width when f is a terminal that can be drawn
// on, and whether to use colour, as NO_COLOR and TERM say.
func Terminal(f *os.File, getenv func(string) string) (width func() int, color bool) {
	if !term.IsTerminal(int(f.Fd())) || getenv("TERM") == "dumb" {
		return nil, false
	}
	width = func() int {
		w, _, err := term.GetSize(int(f.Fd()))
		if err != nil || w <= 0 {
			return 80
		}
		return w
	}
	return width, getenv("NO_COLOR") == ""
}
