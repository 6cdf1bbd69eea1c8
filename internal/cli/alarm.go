package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type alarmCmd struct {
	Ls alarmLs `cmd:"" help:"List alarms: conditions, receivers, which ones fire, and the last notification."`
}

type alarmLs struct {
	remote
	Firing bool `help:"Only alarms that fire."`
}

// Help says what the columns mean.
func (*alarmLs) Help() string {
	return "STATE is ok, firing, or unknown before the first look. TOLD is the time of the last notification, by any node, or the reason why none could be sent."
}

func (c *alarmLs) Run(s *session, api *adminapi.Client) error {
	all, err := api.Alarms(s)
	alarms := []adminapi.Alarm{}
	for _, a := range all {
		if a.Firing || !c.Firing {
			alarms = append(alarms, a)
		}
	}
	none := "no alarms are set: add them under alarms: in the settings file"
	if len(all) > 0 {
		none = "no alarm fires"
	}
	return s.list(adminapi.Alarms{Alarms: alarms}, len(alarms), err, listing{
		none: none,
		head: []string{"NAME", "STATE", "VALUE", "CONDITION", "TELLS", "TOLD"},
		row: func(now time.Time, i int) []cell {
			a := alarms[i]
			return []cell{plain(a.Name), alarmState(now, a), plain(alarmNumber(a, a.Value)), plain(condition(a)), plain(strings.Join(a.To, " and ")), told(now, a)}
		},
	})
}

func alarmState(now time.Time, a adminapi.Alarm) cell {
	switch {
	case a.Firing:
		return cell{clean("firing since " + clock(now, a.Since)), red}
	case a.Looked.IsZero():
		return cell{"unknown", yellow}
	}
	return cell{"ok", green}
}

// condition describes when an alarm fires.
func condition(a adminapi.Alarm) string {
	of := "queue " + a.Queue
	if a.Queue == "*" {
		of = "all queues"
	}
	limit := alarmNumber(a, a.Limit)
	switch a.Kind {
	case "depth":
		return fmt.Sprintf("more than %s dead letters in %s", limit, of)
	case "oldest":
		return fmt.Sprintf("a dead letter older than %s in %s", limit, of)
	case "rate":
		return fmt.Sprintf("more than %s new dead letters a minute in %s", limit, of)
	case "redrive":
		return "a redrive to " + of + " ends or halts"
	}
	return a.Kind + " of " + of
}

// alarmNumber formats a number of letters, or a time.
func alarmNumber(a adminapi.Alarm, n float64) string {
	switch a.Kind {
	case "oldest":
		return span(time.Duration(n * float64(time.Second)))
	case "redrive":
		return "–"
	}
	return fmt.Sprintf("%.0f", n)
}

func told(now time.Time, a adminapi.Alarm) cell {
	switch {
	case a.Failure != "":
		return cell{clean("failed: " + a.Failure), red}
	case !a.ToldAt.IsZero():
		return plain(ago(now, a.ToldAt))
	}
	return plain("never")
}
