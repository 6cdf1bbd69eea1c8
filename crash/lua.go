package crash

import "strings"

// luaSigns are made once: the table is made for each output.
var luaSigns = []string{"stack traceback:"}

// lua reads "x.lua:3: message" with the stack traceback below it.
func lua() language {
	return language{
		name:      "lua",
		begins:    func(l string) bool { return strings.Contains(l, "stack traceback:") },
		signs:     luaSigns,
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
	in, _, _ = strings.Cut(in, ", client: ") // nginx puts the request behind the last frame
	at := strings.LastIndexByte(place, ':')
	if at < 1 && strings.HasSuffix(place, ".lua") || strings.HasSuffix(place, ")") { // the message has the line
		return Frame{File: place, Function: in}, true
	}
	n, rest, ok := leadingNumber(place[at+1:])
	return Frame{File: place[:max(at, 0)], Line: n, Function: in}, at > 0 && ok && rest == ""
}

// luaRaised splits "… runtime error: x.lua:3: message" into place and message.
func luaRaised(l string) (at Frame, message string, ok bool) {
	end := strings.Index(l, ".lua:")
	if _, said, is := strings.Cut(l, "runtime error: "); is && end < 0 { // nginx.conf's own code
		l = said
		end = strings.Index(l, "):") - len(".lua") + 1
	}
	if end < 0 {
		return at, "", false
	}
	end += len(".lua")
	n, rest, ok := leadingNumber(l[end+1:])
	message, is := strings.CutPrefix(rest, ": ")
	return Frame{File: l[strings.LastIndexByte(l[:end], ' ')+1 : end], Line: n}, message, ok && is
}

func luaRead(lines []string, i int) (trace, int, bool) {
	e := exception{typ: "error"}
	var at Frame
	for k := i - 1; k >= 0 && i-k <= 5; k-- {
		var ok bool
		if at, e.message, ok = luaRaised(lines[k]); ok {
			break
		}
	}
	next := i + 1
	for ; next < len(lines); next++ {
		if s := strings.TrimSpace(lines[next]); strings.HasPrefix(s, "coroutine ") && strings.HasSuffix(s, ":") {
			continue
		}
		f, ok := luaFrame(lines[next])
		if !ok && strings.TrimSpace(lines[next]) != "..." {
			break
		}
		if ok {
			if f.Line == 0 && f.File == at.File {
				f.Line = at.Line
			}
			e.frames = append(e.frames, f)
		}
	}
	return trace{chain: []exception{e}, fatal: true}, next, len(e.frames) > 0
}

func luaLibrary(f Frame) bool {
	return f.File == "[C]" || spoken(slashed(f.File), "/share/lua/", "/luarocks/", "/lualib/", "[builtin")
}

// luaCanonical strips how a version names a function: function 'f', local 'f',
// function <x.lua:3>.
func luaCanonical(f Frame) Frame {
	_, f.File = splitBase(strings.ReplaceAll(f.File, `\`, "/"))
	if name, ok := between(f.Function, "'", "'"); ok {
		f.Function = strings.Trim(lastSegment(name, ".:"), "?") // "": the words tell
	} else if strings.Contains(f.Function, "<") {
		f.Function = "<function>"
	}
	return f
}
