// Package flowfile reads flows from YAML files, as strictly as settings: it reports all
// faults at once, with file, line, column and the fix.
//
//	name: orders                 # default: the file's name
//	params: {day: 2026-11-29}
//	schedule: {cron: 30 2 * * *, zone: Europe/Berlin}
//	deadline: 6h
//	tasks:
//	  fetch:
//	    command: [python3, fetch.py, "{{ .params.day }}"]
//	    retry: {attempts: 5, base: 1s, cap: 5m, jitter: full}
//	  load:
//	    needs: [fetch]
//	    each: {from: fetch}
//	    command: [python3, load.py, "{{ .item }}"]
//
// Templates are parsed, and the names in them are checked: parameters, and tasks that the
// task needs. Relative paths of folders and secrets are relative to the file.
package flowfile
