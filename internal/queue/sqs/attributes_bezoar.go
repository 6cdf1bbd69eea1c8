package sqs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// bezoarAttributes returns the attributes that SQS does not have. "" restores the default. Requested by name they show the
// effective value; All includes only those that were set.
func bezoarAttributes() []attribute {
	return []attribute{
		ownAttribute("RetryStrategy", func(s *queue.Settings) string { return s.Retry.Strategy.String() }, func(s *queue.Settings, v string) error {
			return s.Retry.Strategy.UnmarshalText([]byte(v))
		}),
		ownDuration("RetryBase", func(s *queue.Settings) *time.Duration { return &s.Retry.Base }, func(s queue.Settings) time.Duration { return s.Retry.Backoff().Base }),
		ownDuration("RetryCap", func(s *queue.Settings) *time.Duration { return &s.Retry.Cap }, func(s queue.Settings) time.Duration { return s.Retry.Backoff().Cap }),
		ownNumber("RetryAttempts", func(s *queue.Settings) *int { return &s.Retry.Attempts }, func(s queue.Settings) int { return s.Retry.Attempts }),
		ownDuration("RetryDeadline", func(s *queue.Settings) *time.Duration { return &s.Retry.Deadline }, func(s queue.Settings) time.Duration { return s.Retry.Deadline }),
		ownAttribute("RetryBudget", showBudget, setBudget),
		ownAttribute("RetryBudgetFloor", func(s *queue.Settings) string {
			return strconv.FormatFloat(s.Retry.Budget.WithDefaults().Floor, 'g', -1, 64)
		}, func(s *queue.Settings, v string) (err error) {
			s.Retry.Budget.Floor, err = parseFloat(v)
			return err
		}),
		ownText("Downstream", func(s *queue.Settings) *string { return &s.Downstream }),
		ownChoice("Quarantine", "on", "off", func(s *queue.Settings) *bool { return &s.Quarantine.Off }),
		ownNumber("QuarantineAfter", func(s *queue.Settings) *int { return &s.Quarantine.After }, func(s queue.Settings) int { return s.Quarantine.Poison().After }),
		ownDuration("QuarantineFor", func(s *queue.Settings) *time.Duration { return &s.Quarantine.For }, func(s queue.Settings) time.Duration { return s.Quarantine.Poison().For }),
		ownDuration("QuarantineMax", func(s *queue.Settings) *time.Duration { return &s.Quarantine.Max }, func(s queue.Settings) time.Duration { return s.Quarantine.Poison().Max }),
		ownNumber("QuarantineMinBytes", func(s *queue.Settings) *int { return &s.Quarantine.MinBytes }, func(s queue.Settings) int {
			if s.Quarantine.MinBytes == 0 {
				return queue.DefaultMinBytes
			}
			return s.Quarantine.MinBytes
		}),
		ownAttribute("Ignore", func(s *queue.Settings) string { return strings.Join(s.Quarantine.Ignore, ",") }, func(s *queue.Settings, v string) error {
			s.Quarantine.Ignore = nil
			for path := range strings.SplitSeq(v, ",") {
				if path = strings.TrimSpace(path); path != "" {
					s.Quarantine.Ignore = append(s.Quarantine.Ignore, path)
				}
			}
			return nil
		}),
		ownText("Schema", func(s *queue.Settings) *string { return &s.Schema }),
		ownAttribute("Validate", showCheck, setCheck),
		ownChoice("Expire", "delete", "dead-letter", func(s *queue.Settings) *bool { return &s.KeepExpired }),
		ownText("SameAs", func(s *queue.Settings) *string { return &s.SameAs }),
	}
}

// ownAttribute adds the prefix Bezoar, and returns a quiet attribute.
func ownAttribute(name string, get func(*queue.Settings) string, set func(*queue.Settings, string) error) attribute {
	name = "Bezoar" + name
	return attribute{
		name:  name,
		quiet: true,
		get:   func(v *view) string { return get(&v.Settings) },
		set: func(s *settingsChange, value string) error {
			if err := set(s.Settings, value); err != nil {
				return attributeValue.text("Invalid value for the parameter %s. Reason: %v.", name, err)
			}
			return nil
		},
	}
}

func ownText(name string, field func(*queue.Settings) *string) attribute {
	return ownAttribute(name, func(s *queue.Settings) string { return *field(s) }, func(s *queue.Settings, v string) error {
		*field(s) = v
		return nil
	})
}

// ownChoice returns an attribute for a field that is false for the first word and true for the second.
func ownChoice(name, no, yes string, field func(*queue.Settings) *bool) attribute {
	return ownAttribute(name, func(s *queue.Settings) string {
		if *field(s) {
			return yes
		}
		return no
	}, func(s *queue.Settings, v string) error {
		if v != "" && v != no && v != yes {
			return fmt.Errorf("%.40q is neither %s nor %s", v, no, yes)
		}
		*field(s) = v == yes
		return nil
	})
}

func ownNumber(name string, field func(*queue.Settings) *int, shown func(queue.Settings) int) attribute {
	return ownAttribute(name, func(s *queue.Settings) string { return strconv.Itoa(shown(*s)) }, func(s *queue.Settings, v string) error {
		n := 0
		if v != "" {
			var err error
			if n, err = strconv.Atoi(v); err != nil || n < 0 {
				return fmt.Errorf("%.40q is not a number", v)
			}
		}
		*field(s) = n
		return nil
	})
}

func ownDuration(name string, field func(*queue.Settings) *time.Duration, shown func(queue.Settings) time.Duration) attribute {
	return ownAttribute(name, func(s *queue.Settings) string { return shown(*s).String() }, func(s *queue.Settings, v string) (err error) {
		*field(s), err = parseDuration(v)
		return err
	})
}

// parseDuration parses whole seconds, or a Go duration.
func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%.40q is not a duration: want seconds, or such as 1m30s", text)
	}
	return d, nil
}

func parseFloat(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f > 0 && f < 1e9) {
		return 0, fmt.Errorf("%.40q is not a number above 0", text)
	}
	return f, nil
}

func showBudget(s *queue.Settings) string {
	return strconv.FormatFloat(100*s.Retry.Budget.WithDefaults().Ratio, 'g', 6, 64) + "%"
}

// setBudget parses "20%" or 0.2.
func setBudget(s *queue.Settings, value string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(value), "%")
	f, err := parseFloat(strings.TrimSpace(number))
	if err != nil {
		return err
	}
	if percent {
		f /= 100
	}
	s.Retry.Budget.Ratio = f
	return nil
}

func showCheck(s *queue.Settings) string {
	if s.SchemaCheck == "" {
		return string(queue.CheckReject)
	}
	return string(s.SchemaCheck)
}

func setCheck(s *queue.Settings, value string) error {
	switch c := queue.SchemaCheck(value); c {
	case queue.CheckReject, "":
		s.SchemaCheck = ""
	case queue.CheckDeadLetter:
		s.SchemaCheck = c
	default:
		return fmt.Errorf("%.40q is neither %s nor %s", value, queue.CheckReject, queue.CheckDeadLetter)
	}
	return nil
}

// suggest returns a hint at the attribute that name probably means, or "".
func (h *Handler) suggest(name string) string {
	best, least := "", 1+len(name)/4
	for _, known := range h.order {
		if d := distance(strings.ToLower(name), strings.ToLower(known)); d <= least {
			best, least = known, d-1
		}
	}
	if best == "" {
		return ""
	}
	return " Did you mean " + best + "?"
}

// distance returns the edit distance of two words of at most 64 letters.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			swap := diagonal
			if a[i] != b[j] {
				swap++
			}
			diagonal = row[j+1]
			row[j+1] = min(swap, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
