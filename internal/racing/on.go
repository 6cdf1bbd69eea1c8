//go:build race

package racing

// Enabled says that the race detector watches.
const Enabled = true
