// The benchmarks against peers. A module of its own, so that nobody who imports
// Bezoar gets to see it. Of Bezoar it imports what overload measures alone; the
// others run the binary, as they run the peers.
module github.com/bezoar-dev/bezoar/bench

go 1.26.0

replace github.com/bezoar-dev/bezoar => ..

require github.com/bezoar-dev/bezoar v0.0.0-00010101000000-000000000000
