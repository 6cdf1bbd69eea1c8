package template

import "time"

// method returns a method of a value as a function that takes the value first; nil if it has none of that name. Methods of
// times that return several values, such as Clock, cannot be used in templates.
func method(of any, name string) any {
	switch of.(type) {
	case time.Time:
		return timeMethods[name]
	case time.Duration:
		return durationMethods[name]
	case time.Month:
		return map[string]any{"String": time.Month.String}[name]
	case time.Weekday:
		return map[string]any{"String": time.Weekday.String}[name]
	case *time.Location:
		return map[string]any{"String": (*time.Location).String}[name]
	}
	return nil
}

var timeMethods = map[string]any{
	"Add": time.Time.Add, "AddDate": time.Time.AddDate, "After": time.Time.After, "AppendBinary": time.Time.AppendBinary,
	"AppendFormat": time.Time.AppendFormat, "AppendText": time.Time.AppendText, "Before": time.Time.Before,
	"Compare": time.Time.Compare, "Day": time.Time.Day, "Equal": time.Time.Equal, "Format": time.Time.Format,
	"GoString": time.Time.GoString, "GobEncode": time.Time.GobEncode, "Hour": time.Time.Hour, "In": time.Time.In,
	"IsDST": time.Time.IsDST, "IsZero": time.Time.IsZero, "Local": time.Time.Local, "Location": time.Time.Location,
	"MarshalBinary": time.Time.MarshalBinary, "MarshalJSON": time.Time.MarshalJSON, "MarshalText": time.Time.MarshalText,
	"Minute": time.Time.Minute, "Month": time.Time.Month, "Nanosecond": time.Time.Nanosecond, "Round": time.Time.Round,
	"Second": time.Time.Second, "String": time.Time.String, "Sub": time.Time.Sub, "Truncate": time.Time.Truncate,
	"UTC": time.Time.UTC, "Unix": time.Time.Unix, "UnixMicro": time.Time.UnixMicro, "UnixMilli": time.Time.UnixMilli,
	"UnixNano": time.Time.UnixNano, "Weekday": time.Time.Weekday, "Year": time.Time.Year, "YearDay": time.Time.YearDay,
}

var durationMethods = map[string]any{
	"Abs": time.Duration.Abs, "Hours": time.Duration.Hours, "Microseconds": time.Duration.Microseconds,
	"Milliseconds": time.Duration.Milliseconds, "Minutes": time.Duration.Minutes, "Nanoseconds": time.Duration.Nanoseconds,
	"Round": time.Duration.Round, "Seconds": time.Duration.Seconds, "String": time.Duration.String,
	"Truncate": time.Duration.Truncate,
}
