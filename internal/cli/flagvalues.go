package cli

import (
	"encoding"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// flagReader returns how values of flags are read: as the settings file reads them. A wrong one is answered by what to
// write.
func flagReader(t reflect.Type) (r cmdline.Reader, ok bool) {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return cmdline.Reader{Kind: "duration", Read: func(text string, to reflect.Value) error {
			d, err := config.Duration(text)
			if err == nil {
				to.SetInt(int64(d))
			}
			return err
		}}, true
	case t == reflect.TypeFor[slog.Level]():
		return cmdline.Reader{Kind: "level", Read: func(text string, to reflect.Value) error {
			var level slog.Level
			if level.UnmarshalText([]byte(text)) != nil {
				return fmt.Errorf("%s is not a level — write debug, info, warn or error", config.Quoted(text))
			}
			to.SetInt(int64(level))
			return nil
		}}, true
	case t.Kind() == reflect.Float64:
		return cmdline.Reader{Kind: "number", Read: func(text string, to reflect.Value) error {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s is not a number — write one such as 0.5", config.Quoted(text))
			}
			to.SetFloat(f)
			return nil
		}}, true
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return cmdline.Reader{}, false
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64, t.Kind() == reflect.Uint64:
		return cmdline.Reader{Kind: "number", Read: readNumber}, true
	}
	return cmdline.Reader{}, false
}

func readNumber(text string, to reflect.Value) error {
	var err error
	if to.CanUint() {
		var u uint64
		u, err = strconv.ParseUint(text, 10, to.Type().Bits())
		to.SetUint(u)
	} else {
		var i int64
		i, err = strconv.ParseInt(text, 10, to.Type().Bits())
		to.SetInt(i)
	}
	if err != nil {
		return fmt.Errorf("%s is not a whole number — write digits only", config.Quoted(text))
	}
	return nil
}
