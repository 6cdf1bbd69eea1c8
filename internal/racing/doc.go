// Package racing tells tests whether the race detector watches them. It makes
// plain Go code, such as SQLite's, some ten times slower: what repeats itself to
// meet rare states repeats itself less often then, since a few rounds already have
// every goroutine meet every other. It promises nothing else, and only tests
// import it.
package racing

// Rounds chooses how often to repeat something: plain, or watched under the race
// detector.
func Rounds(plain, watched int) int {
	if Enabled {
		return watched
	}
	return plain
}
