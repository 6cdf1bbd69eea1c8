// Package flowfile reads flows from YAML files, as strictly as settings are read:
// every fault is named at once, with file, line, column and what to write instead.
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
// Templates are parsed, and what they name is looked for: parameters, and tasks
// that the task needs. Relative folders and files of secrets are those of the file.
package flowfile
