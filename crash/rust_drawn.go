package crash

import "strings"

// rustDrawn reports the first line of a panic as the library miette draws it:
// "  × Thread 'main' panicked.", perhaps behind "Error:" or a progress bar.
func rustDrawn(l string) bool {
	t := strings.TrimRight(l, " ")
	return strings.HasSuffix(t, " panicked.") && (strings.Contains(t, "× ") || strings.HasPrefix(strings.TrimPrefix(t, "Error:"), "  x "))
}

// rustDrawnLines bounds the lines between a drawn panic's first and its message.
const rustDrawnLines = 60

// rustDrawnPanic reads the arms below: where the panic was, the message, and
// the backtrace, whose lines are wrapped to the terminal's width.
func rustDrawnPanic(lines []string, i int) (trace, int, bool) {
	var at Frame
	var column string
	placed := false
	for j := i + 1; j < min(len(lines), i+rustDrawnLines); j++ {
		arm, last, ok := rustArm(lines[j])
		if !ok {
			if !strings.HasPrefix(strings.TrimSpace(lines[j]), "│") && !strings.HasPrefix(strings.TrimSpace(lines[j]), "|") {
				break
			}
			continue
		}
		place, isPlace := strings.CutPrefix(arm, "at ")
		if !isPlace {
			place, isPlace = strings.CutPrefix(arm, "At ")
		}
		if isPlace && !last {
			for k := j + 1; k < min(len(lines), j+4); k++ {
				if at, column, placed = rustPlace(place); placed {
					break
				}
				place += strings.TrimLeft(lines[k], " │|") // wrapped
			}
			continue
		}
		if !last || !placed {
			continue
		}
		frames, next := rustWrapped(lines, j+1)
		return trace{chain: []exception{rustException(at, column, arm, frames)}, fatal: true}, next, true
	}
	return trace{}, i, false
}

// rustArm returns what stands on an arm of the drawing, and whether none follows.
func rustArm(l string) (text string, last, ok bool) {
	t := strings.TrimSpace(l)
	for _, arm := range []struct {
		sign string
		last bool
	}{{"├─▶ ", false}, {"╰─▶ ", true}, {"|-> ", false}, {"`-> ", true}} {
		if text, ok = strings.CutPrefix(t, arm.sign); ok {
			return text, arm.last, true
		}
	}
	return "", false, false
}

// rustWrapped reads a backtrace whose lines were wrapped, without its heading.
func rustWrapped(lines []string, i int) ([]Frame, int) {
	var whole []string
	next := i
	for j := i; j < len(lines) && len(whole) < 2*rustMaxFrames; j++ {
		t := strings.TrimSpace(lines[j])
		if t == "" || t == lines[j] {
			break
		}
		d := countDigits(t)
		switch {
		case d > 0 && strings.HasPrefix(t[d:], ": "), strings.HasPrefix(t, "at /"), len(whole) > 0 && strings.HasPrefix(t, "at "):
			whole = append(whole, t)
		case len(whole) > 0:
			if w := &whole[len(whole)-1]; strings.HasPrefix(*w, "at ") || isLowerHex(t) { // a path, or the end of a hash
				*w += t
			} else {
				*w += " " + t
			}
		default:
			continue // the message goes on
		}
		next = j + 1
	}
	frames, _ := rustBacktrace(whole, 0)
	return frames, next
}
