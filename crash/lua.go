package crash

import "strings"

// lua reads "x.lua:3: message" with the stack traceback below it.
func lua() language {
	return language{
		name:      "lua",
		begins:    func(l string) bool { return strings.Contains(l, "stack traceback:") },
		signs:     []string{"stack traceback:"},
		read:      luaRead,
		library:   luaLibrary,
		ignore:    func(f Frame) bool { return f.File == "[C]" },
		canonical: luaCanonical,
	}
}

// luaFrame reads "x.lua:3: in function 'f'" and "[C]: in ?".
func luaFrame(l string) (f Frame, ok bool) {
	place, in, ok := strings.Cut(strings.TrimSpace(l), ": in ")
	if !ok {
		return f, false
	}
	if place == "[C]" {
		return Frame{File: "[C]", Function: in}, true
	}
	at := strings.LastIndexByte(place, ':')
	if at < 1 {
		return f, false
	}
	n, rest, ok := leadingNumber(place[at+1:])
	return Frame{File: place[:at], Line: n, Function: in}, ok && rest == ""
}

func luaRead(lines []string, i int) (trace, int, bool) {
	e := exception{typ: "error"}
	for k := i - 1; k >= 0 && i-k <= 5; k-- {
		at := strings.Index(lines[k], ".lua:")
		if at < 0 {
			continue
		}
		_, rest, ok := leadingNumber(lines[k][at+len(".lua:"):])
		if msg, is := strings.CutPrefix(rest, ": "); ok && is {
			e.message = msg
			break
		}
	}
	next := i + 1
	for ; next < len(lines); next++ {
		f, ok := luaFrame(lines[next])
		if !ok && strings.TrimSpace(lines[next]) != "..." {
			break
		}
		if ok {
			e.frames = append(e.frames, f)
		}
	}
	return trace{chain: []exception{e}, fatal: true}, next, len(e.frames) > 0
}

func luaLibrary(f Frame) bool {
	return f.File == "[C]" || containsAny(slashed(f.File), []string{"/share/lua/", "/luarocks/", "/lualib/", "[builtin"})
}

// luaCanonical strips how a version names a function: function 'f', local 'f',
// function <x.lua:3>.
func luaCanonical(f Frame) Frame {
	_, f.File = splitBase(strings.ReplaceAll(f.File, `\`, "/"))
	if name, ok := between(f.Function, "'", "'"); ok {
		f.Function = lastSegment(name, ".:")
	} else if strings.Contains(f.Function, "<") {
		f.Function = "<function>"
	}
	return f
}
