// The benchmarks against peers. A module of its own, so that nobody who imports
// Bezoar gets to see it. It imports nothing of Bezoar either: it runs the
// binary, as it runs the peers.
module github.com/bezoar-dev/bezoar/bench

go 1.26.0
