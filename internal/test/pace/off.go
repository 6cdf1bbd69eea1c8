//go:build !race

package pace

// Watched says that the race detector watches.
const Watched = false
