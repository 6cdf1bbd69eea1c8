package config

import "strings"

// didYouMean returns a hint such as `, did you mean "replicas"?`, or "".
func didYouMean(word string, known []string) string {
	if best := nearest(word, known); best != "" {
		return ", did you mean " + best + "?"
	}
	return ""
}

// nearest returns the known word that word is probably a misspelling of, or "". The first
// of several equally near words wins.
func nearest(word string, known []string) string {
	const longest = 40 // longer words are unlikely, and the cost of the distance is quadratic
	if len(word) > longest {
		return ""
	}
	word = strings.ToLower(word)
	best, limit := "", 1+len(word)/4
	for _, k := range known {
		if plain(k) == plain(word) {
			return k
		}
		if d := distance(word, k); d <= limit {
			best, limit = k, d-1
		}
	}
	return best
}

// plain removes the word separators: maxInFlight, max-in-flight.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, s)
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn
// a into b.
func distance(a, b string) int {
	prev2 := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}
