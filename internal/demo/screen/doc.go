// Package screen draws the demonstration's fleet in a terminal, ten times a
// second over itself: a tile per worker, what became of the good requests, and
// the last things that happened.
//
// [Frame.Render] is a pure function of what is to be seen, the width and
// whether there is colour; [Screen] does the writing. Text that comes from
// outside is shown without its control characters.
package screen
