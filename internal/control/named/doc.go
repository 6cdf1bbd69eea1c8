// Package named checks the files and folders that settings name, on the machine where they are to be used, before the
// settings run.
//
// Guaranteed: nothing is changed or created, and no fault quotes the content of a file. Not guaranteed: a file may vanish
// later. Files of limits and hints, which belong to versions of the settings, are checked elsewhere.
package named
