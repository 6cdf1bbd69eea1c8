package screen

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// State is what a worker is doing, as the picture tells it apart.
type State int

// The states, each with a sign, a word and a colour of its own.
const (
	Starting State = iota
	Serving
	Lane
	Draining
	Dead
)

func (s State) look() (sign, word, colour string) {
	switch s {
	case Serving:
		return "●", "serving", green
	case Lane:
		return "◆", "lane", blue
	case Draining:
		return "◌", "draining", dim
	case Dead:
		return "✖", "dead", red
	case Starting:
	}
	return "↻", "starting", yellow
}

// A Tile is one worker.
type Tile struct {
	Name     string
	State    State
	InFlight int
	Deaths   int
}

// A Frame is everything that one picture shows.
type Frame struct {
	Title   string // which phase this is
	Explain string // what happens in it, in one line
	Elapsed time.Duration
	Length  time.Duration

	Tiles   []Tile
	Guarded bool // there is a quarantine to show
	Suspect int  // verdicts that are not convictions
	Convict int
	Waiting int // for the lane

	GoodSent, GoodOK, GoodRefused int64
	PillsSent, PillsRefused       int64
	Lost                          int
	P99                           time.Duration
	Served                        []float64 // share of good requests answered per tick, oldest first; <0: none
	Log                           []string  // newest last
}

// logLines is how many lines of the log a frame shows.
const logLines = 4

// Render returns the picture in lines of at most width columns. It has as many
// lines for every frame with as many tiles.
func (f Frame) Render(width int, colour bool) []string {
	width = max(width, 40)
	p := paint{on: colour}
	lines := []string{
		p.head(f, width),
		" " + p.with(dim, cut(f.Explain, width-1)),
		"",
	}
	lines = append(lines, p.tiles(f.Tiles, width)...)
	lines = append(lines, "", p.served(f, width), p.harm(f, width), p.guard(f, width), "")
	for i := range logLines {
		line := ""
		if at := len(f.Log) - logLines + i; at >= 0 {
			line = " " + p.with(dim, "· "+cut(f.Log[at], width-3))
		}
		lines = append(lines, line)
	}
	return lines
}

// The colours: foregrounds that are readable on dark and on light.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "36"
	dim    = "2"
	bold   = "1"
)

type paint struct{ on bool }

func (p paint) with(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) head(f Frame, width int) string {
	clock := fmt.Sprintf("%4.1f s", f.Elapsed.Seconds())
	bar := ""
	if f.Length > 0 && width >= 70 {
		const cells = 20
		full := int(min(1, f.Elapsed.Seconds()/f.Length.Seconds()) * cells)
		bar = strings.Repeat("━", full) + strings.Repeat("─", cells-full) + " "
	}
	title := cut(f.Title, width-2-len(clock)-columns(bar))
	gap := strings.Repeat(" ", max(1, width-1-columns(title)-len(clock)-columns(bar)))
	return " " + p.with(bold, title) + gap + p.with(dim, bar) + clock
}

// tileWidth is one tile with the space after it.
const tileWidth = 18

func (p paint) tiles(tiles []Tile, width int) []string {
	if len(tiles) == 0 {
		return nil
	}
	fit := max(1, (width-1)/tileWidth)
	rows := (len(tiles) + fit - 1) / fit
	fit = (len(tiles) + rows - 1) / rows // as even as can be
	var lines []string
	for len(tiles) > 0 {
		n := min(fit, len(tiles))
		top, middle, bottom := " ", " ", " "
		for _, t := range tiles[:n] {
			a, b, c := p.tile(t)
			top, middle, bottom = top+a+" ", middle+b+" ", bottom+c+" "
		}
		lines = append(lines, trimmed(top), trimmed(middle), trimmed(bottom))
		tiles = tiles[n:]
	}
	return lines
}

func (p paint) tile(t Tile) (top, middle, bottom string) {
	const inner = tileWidth - 3
	sign, word, colour := t.State.look()
	name := cut(t.Name, inner-3)
	busy := ""
	if t.InFlight > 0 {
		busy = fmt.Sprintf("%d", min(t.InFlight, 999))
	}
	deaths := ""
	if t.Deaths > 0 {
		deaths = fmt.Sprintf(" ✖%d ", min(t.Deaths, 9999))
	}
	text := sign + " " + word
	top = p.with(colour, "╭ "+name+" "+strings.Repeat("─", inner-2-columns(name))+"╮")
	middle = p.with(colour, "│ "+text+strings.Repeat(" ", inner-2-columns(text)-len(busy))+busy+" │")
	bottom = p.with(colour, "╰"+strings.Repeat("─", inner-columns(deaths)-1)) +
		p.with(red, deaths) + p.with(colour, "─╯")
	return top, middle, bottom
}

// served is the line of the good requests: one block per tick.
func (p paint) served(f Frame, width int) string {
	share := "none yet"
	if f.GoodSent > 0 {
		share = percent(f.GoodOK, f.GoodSent) + fmt.Sprintf(" of %d", f.GoodSent)
	}
	room := max(0, width-12-columns(share)-2)
	ticks := f.Served[max(0, len(f.Served)-room):]
	var b strings.Builder
	for _, s := range ticks {
		switch {
		case s < 0:
			b.WriteString(" ")
		case s >= 0.999:
			b.WriteString(p.with(green, "█"))
		case s > 0.5:
			b.WriteString(p.with(yellow, string([]rune("▁▂▃▄▅▆▇█")[int(s*7.99)])))
		default:
			b.WriteString(p.with(red, string([]rune("▁▂▃▄▅▆▇█")[int(s*7.99)])))
		}
	}
	return " answered   " + b.String() + " " + share
}

func (p paint) harm(f Frame, width int) string {
	text := fmt.Sprintf("pills %d, workers lost %d, innocents refused %d, p99 %s",
		f.PillsSent, f.Lost, f.GoodRefused, duration(f.P99))
	return " so far     " + p.with(bold, cut(text, width-12))
}

func (p paint) guard(f Frame, width int) string {
	if !f.Guarded {
		return " defence    " + p.with(dim, cut("none: whatever fails is sent to the next worker", width-12))
	}
	text := fmt.Sprintf("refused %d pills, quarantined %d, suspects %d, waiting for the lane %d",
		f.PillsRefused, f.Convict, f.Suspect, f.Waiting)
	return " defence    " + p.with(blue, cut(text, width-12))
}

// cut shortens text to n columns and takes control characters out.
func cut(text string, n int) string {
	var b strings.Builder
	used := 0
	for _, r := range text {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			r = '·'
		}
		if used == n-1 && columns(text) > n {
			b.WriteRune('…')
			break
		}
		if used >= n {
			break
		}
		b.WriteRune(r)
		used++
	}
	return b.String()
}

// columns counts the columns of text that has no wide characters.
func columns(text string) int { return len([]rune(text)) }

func trimmed(s string) string { return strings.TrimRight(s, " ") }

func percent(part, whole int64) string {
	share := 100 * float64(part) / float64(whole)
	if part < whole && share > 99.99 {
		share = 99.99 // 100 % is said only when it is
	}
	return fmt.Sprintf("%.2f %%", share)
}

func duration(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
