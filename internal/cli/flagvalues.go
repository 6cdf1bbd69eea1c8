package cli

import (
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// flagValues read values of flags as the settings file reads them. A wrong one is
// answered by what to write.
func flagValues() []kong.Option {
	options := []kong.Option{
		kong.TypeMapper(reflect.TypeFor[time.Duration](), valueOf("duration", func(text string, to reflect.Value) error {
			d, err := config.Duration(text)
			if err == nil {
				to.SetInt(int64(d))
			}
			return err
		})),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), valueOf("level", func(text string, to reflect.Value) error {
			var level slog.Level
			if level.UnmarshalText([]byte(text)) != nil {
				return fmt.Errorf("%s is not a level — write debug, info, warn or error", config.Quoted(text))
			}
			to.SetInt(int64(level))
			return nil
		})),
		kong.KindMapper(reflect.Float64, valueOf("number", func(text string, to reflect.Value) error {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s is not a number — write one such as 0.5", config.Quoted(text))
			}
			to.SetFloat(f)
			return nil
		})),
	}
	whole := valueOf("number", func(text string, to reflect.Value) error {
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
	})
	for _, kind := range []reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64} {
		options = append(options, kong.KindMapper(kind, whole))
	}
	return options
}

// valueOf reads one word, of which the parser says what kind it wants.
func valueOf(kind string, read func(text string, to reflect.Value) error) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, to reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto(kind, &text); err != nil {
			return err
		}
		return read(text, to)
	}
}
