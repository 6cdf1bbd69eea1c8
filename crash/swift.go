package crash

import "strings"

// swift is Swift and Objective-C: their own last words, and Apple's crash
// reports.
func swift() language {
	return language{
		name: "swift", begins: swiftBegins, signs: []string{"Exception Type: ", "*** Terminating", "atal error: "}, read: swiftRead,
		library: swiftLibrary, ignore: swiftIgnore, canonical: swiftCanonical,
	}
}

func swiftBegins(l string) bool {
	s := strings.TrimLeft(l, " \t*")
	if len(s) < 16 {
		return false
	}
	if s[0] == 'E' && strings.HasPrefix(s, "Exception Type: ") {
		return true
	}
	return strings.Contains(l, "*** Terminating app due to") || strings.Contains(s, "atal error: ") && strings.Contains(s, ".swift")
}

func swiftRead(lines []string, i int) (trace, int, bool) {
	s := strings.TrimLeft(lines[i], " \t*")
	e := exception{}
	stack := ""
	switch {
	case strings.Contains(lines[i], "*** Terminating app due to"): // behind NSLog's process
		_, rest, _ := strings.Cut(s, "'")
		e.typ, rest, _ = strings.Cut(rest, "'")
		_, reason, _ := strings.Cut(rest, "reason: '")
		e.message, stack = strings.TrimSuffix(strings.TrimSpace(reason), "'"), "call stack"
	case strings.HasPrefix(s, "Exception Type: "):
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "Exception Value:") {
			return trace{}, i, false // Django's
		}
		e.typ, stack = strings.TrimSpace(s[len("Exception Type: "):]), "Crashed:"
	default:
		before, message, _ := strings.Cut(s, "atal error: ")
		e.typ, e.message = "Fatal error", message
		if f, ok := swiftPlace(before, message); ok {
			e.frames = []Frame{f}
		}
		return trace{chain: []exception{e}, fatal: true}, i + 1, len(e.frames) > 0
	}
	next := swiftStack(lines, i+1, stack, &e)
	// libc++abi says the same again, without a frame.
	return trace{chain: []exception{e}, fatal: true, rank: 1}, next, e.typ != ""
}

// swiftPlace finds the place in "shop/Cart.swift:12: Fatal error: message" and
// in the older "Fatal error: message: file /src/Cart.swift, line 12".
func swiftPlace(before, message string) (Frame, bool) {
	before = strings.TrimSuffix(strings.TrimRight(before, "F f"), ":")
	if file, line, ok := nodeCutNumber(before); ok {
		return Frame{File: file[strings.LastIndexByte(file, ' ')+1:], Line: line}, true
	}
	_, file, ok := strings.Cut(message, ": file ")
	file, line, found := strings.Cut(file, ", line ")
	return Frame{File: file, Line: lineNumber(line)}, ok && found
}

// swiftStack reads the frames behind the line that holds mark.
func swiftStack(lines []string, i int, mark string, e *exception) int {
	k := i
	for ; k < len(lines) && k < i+80; k++ {
		if strings.Contains(lines[k], mark) {
			break
		}
	}
	if k == len(lines) || k == i+80 {
		return i
	}
	for k++; k < len(lines) && len(e.frames) < maxFrames; k++ {
		f, ok := swiftFrame(lines[k])
		if ok {
			e.frames = append(e.frames, f)
		} else if s := strings.TrimSpace(lines[k]); s != "(" {
			break
		}
	}
	return k
}

// swiftFrame parses "3   Shop   0x0000000104 Cart.add(_:) + 123 (Cart.swift:12)".
func swiftFrame(l string) (Frame, bool) {
	words := strings.Fields(l)
	if len(words) < 4 || !allDigits(words[0]) {
		return Frame{}, false
	}
	at := 1
	for at < len(words) && !strings.HasPrefix(words[at], "0x") {
		at++ // images may have spaces in their names
	}
	if at < 2 || at+1 >= len(words) {
		return Frame{}, false
	}
	symbol := strings.Join(words[at+1:], " ")
	f := Frame{Module: strings.Join(words[1:at], " ")}
	if open := strings.LastIndex(symbol, " ("); open > 0 && strings.HasSuffix(symbol, ")") {
		if file, line, ok := nodeCutNumber(symbol[open+2 : len(symbol)-1]); ok {
			f.File, f.Line, symbol = file, line, symbol[:open]
		}
	}
	if plus := strings.LastIndex(symbol, " + "); plus > 0 && allDigits(symbol[plus+3:]) {
		symbol = symbol[:plus]
	}
	if !strings.HasPrefix(symbol, "0x") {
		f.Function = symbol
	}
	return f, true
}

// swiftLibrary reports the system's images.
func swiftLibrary(f Frame) bool {
	switch f.Module {
	case "":
		return false
	case "CoreFoundation", "Foundation", "UIKit", "UIKitCore", "AppKit", "SwiftUI", "QuartzCore", "GraphicsServices", "dyld", "CoreData", "CFNetwork",
		"Combine", "WebKit", "Security", "HIToolbox", "AttributeGraph", "FrontBoardServices", "RunningBoardServices", "libobjc.A.dylib", "???":
		return true
	}
	return strings.HasPrefix(f.Module, "libsystem_") || strings.HasPrefix(f.Module, "libswift") || strings.HasPrefix(f.Module, "libdispatch") || strings.HasPrefix(f.Module, "libc++")
}

// swiftIgnore reports how the system ends a program.
func swiftIgnore(f Frame) bool {
	switch f.Function {
	case "__exceptionPreprocess", "objc_exception_throw", "__pthread_kill", "pthread_kill", "abort", "raise", "_assertionFailure", "swift_runtime_on_report", "terminate":
		return true
	}
	return strings.Contains(f.Function, "assertionFailure") || strings.HasPrefix(f.Function, "demangling_terminate") || strings.HasPrefix(f.Function, "+[NSException raise")
}

func swiftCanonical(f Frame) Frame {
	name, _, _ := strings.Cut(f.Function, "(")
	if name == "" {
		name = f.Function
	}
	for _, p := range []string{"closure #1 in ", "specialized ", "@objc ", "partial apply for ", "implicit closure #1 in "} {
		name = strings.TrimPrefix(name, p)
	}
	if name == "" && f.File != "" {
		name = "<unnamed>"
	}
	file := ""
	if f.Module == "" {
		file = f.File
	}
	return Frame{File: file, Line: f.Line, Module: f.Module, Function: name}
}
