package crash

import "strings"

// logcat is what Android's log puts before each line, in its forms brief,
// time, threadtime and that of Android Studio:
//
//	E/AndroidRuntime(27147): text
//	05-16 08:17:53.812: E/AndroidRuntime(27147): text
//	12-01 10:11:12.131  1234  1250 E AndroidRuntime: text
//	2024-02-25 22:23:01.830 30777-30777 AndroidRuntime  com.example  E  text
func logcat(l string) int {
	i := 0
	if countDigits(l) >= 2 {
		i = strings.IndexByte(l, ' ') + 1 // the day
		if i == 0 || i > 11 || !strings.Contains(l[:i], "-") {
			return 0
		}
		n := clock(l[i:])
		if n == 0 {
			return 0
		}
		i += n
		i += len(l[i:]) - len(strings.TrimLeft(l[i:], ": "))
	}
	if i+2 < len(l) && l[i+1] == '/' && strings.IndexByte("VDIWEFA", l[i]) >= 0 {
		return logcatTag(l, i+2)
	}
	if i == 0 {
		return 0
	}
	rest := strings.Fields(l[i:min(len(l), i+200)])
	if len(rest) < 4 || countDigits(rest[0]) == 0 {
		return 0
	}
	for k, w := range rest[:min(len(rest), 5)] {
		if k > 0 && len(w) == 1 && strings.IndexByte("VDIWEFA", w[0]) >= 0 {
			at := i + strings.Index(l[i:], " "+w+" ") + 3
			if countDigits(rest[1]) == len(rest[1]) { // threadtime: the tag follows
				return logcatTag(l, at)
			}
			return at + len(l[at:]) - len(strings.TrimLeft(l[at:], " "))
		}
	}
	return 0
}

// logcatTag passes "AndroidRuntime(27147): " and "AndroidRuntime: ".
func logcatTag(l string, i int) int {
	for k := i; k < len(l) && k < i+80; k++ {
		switch c := l[k]; {
		case c == ':' && k > i:
			if k+1 < len(l) && l[k+1] == ' ' {
				return k + 2
			}
			return k + 1
		case c == '/' || c == '"' || c == '\t':
			return 0
		}
	}
	return 0
}
