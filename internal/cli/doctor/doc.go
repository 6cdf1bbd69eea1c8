// Package doctor examines a deployment and reports what is wrong or risky: its settings,
// its state folder and store, the machine that it is to run on, and the running Bezoar,
// if there is one. Each [Finding] is a line with its fix.
//
// It only reads. It makes no file, migrates no store and holds locks only briefly. It
// binds free addresses for a moment to see whether that is possible. It reports what its
// user may not see.
package doctor
