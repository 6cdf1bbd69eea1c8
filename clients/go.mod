// Real clients that drive a real Bezoar. Each client is a module or a
// script of its own, so that nobody who imports Bezoar gets to see their
// dependencies; this module, which runs them, has none.
module github.com/bezoar-dev/bezoar/clients

go 1.26.0
