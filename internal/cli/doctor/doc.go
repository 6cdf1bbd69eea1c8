// Package doctor looks at a deployment and says what is wrong or risky: its settings,
// its state folder and store, the machine that it is to run on, and the Bezoar that
// runs, if one does. Each [Finding] is a line with its fix.
//
// It reads. It makes no file, migrates no store and takes no lock for longer than a
// look; it binds addresses that nobody has for a moment, to see whether that can be
// done. What it cannot see as its user it says.
package doctor
