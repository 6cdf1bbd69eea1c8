package cdc

import (
	"fmt"
	"time"
)

// hold sets the reason why the server cannot remove the WAL of a slot.
func (s *SlotReport) hold(transaction string) {
	switch {
	case s.Status == "lost", s.Status == "gone", s.Retained < trifle:
	case s.PID == 0 && s.Kind == "physical":
		s.HeldBy = "the standby or backup of this slot, which is not connected" + since(s.Inactive)
	case s.PID == 0:
		left := s.Inactive
		if left == nil && s.Health == Stopped {
			left = s.Since // servers before version 17 do not report it
		}
		s.HeldBy = "the slot: no reader" + since(left)
	case s.Kind == "physical":
		s.HeldBy = "the standby " + s.Reader
	case s.Behind > s.Retained/2:
		s.HeldBy = fmt.Sprintf("its reader (%s), which has not confirmed %s", s.Reader, size(s.Behind))
	case transaction != "":
		s.HeldBy = transaction
	}
}

func since(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " since " + t.UTC().Format(time.RFC3339)
}

// project estimates when the WAL that a slot holds back reaches its limit.
func (s *SlotReport) project(r *Report, growth float64) {
	left := r.Free
	if s.Safe != nil && (left == nil || *s.Safe < *left) {
		left = s.Safe
	}
	if s.HeldBy == "" || growth < 1 || left == nil {
		return
	}
	in := min(float64(*left)/growth, (10 * 365 * 24 * time.Hour).Seconds())
	d := time.Duration(max(in, 0) * float64(time.Second)).Round(time.Second)
	s.LimitIn = &d
}

// alarm sets the condition that needs a person's attention, if any.
func (s *SlotReport) alarm(r *Report) {
	switch {
	case s.Status == "lost":
		s.Alarm = "the slot is lost: the server removed WAL that it needs, because of max_slot_wal_keep_size"
	case s.LimitIn != nil && *s.LimitIn < soon:
		what := "the disk is full"
		if s.Safe != nil && (r.Free == nil || *s.Safe < *r.Free) {
			what = "the slot is lost"
		}
		s.Alarm = fmt.Sprintf("%s in %s; held by %s", what, about(*s.LimitIn), s.HeldBy)
	case s.Health == Broken:
		s.Alarm = s.Reason
	case s.Health == Failing || s.Health == Stalled || s.Health == Full:
		if s.Since != nil && r.At.Sub(*s.Since) > troubled {
			s.Alarm = fmt.Sprintf("its reader has been %s since %s: %s", s.Health, s.Since.UTC().Format(time.RFC3339), s.Reason)
		}
	case s.PID == 0 && s.Retained > plenty:
		s.Alarm = fmt.Sprintf("the server keeps %s of WAL; held by %s", size(s.Retained), s.HeldBy)
	}
}

// about formats a duration in its largest unit.
func about(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= 2*u.of {
			return fmt.Sprintf("%d %s", d/u.of, u.name)
		}
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// size formats a number of bytes in its largest unit.
func size(n int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if of := int64(1) << (10 * (4 - i)); n >= of {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(of), unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
