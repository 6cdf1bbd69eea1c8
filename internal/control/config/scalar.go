package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// isScalar reports whether a value of type t is written as one word.
func isScalar(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return true
	default:
		return false
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, path, flawf("write a single value", "is %s, want one value", kindOf(n)))
		return
	}
	if isNull(n) {
		d.fault(n, path, flawf("give it a value or remove it", "is empty"))
		return
	}
	if len(n.Value) > maxTextBytes {
		d.fault(n, path, flawf("shorten it", "is %d bytes long, more than %d", len(n.Value), maxTextBytes))
		return
	}
	if err := setText(v, n.Value); err != nil {
		d.fault(n, path, asFlaw(err))
	}
}

// setText parses one word into v.
func setText(v reflect.Value, text string) error {
	switch p := v.Addr().Interface().(type) {
	case *time.Duration:
		dur, err := parseDuration(text)
		if err == nil {
			*p = dur
		}
		return err
	case *netip.Prefix:
		prefix, err := parsePrefix(text)
		if err == nil {
			*p = prefix
		}
		return err
	case encoding.TextUnmarshaler:
		return p.UnmarshalText([]byte(text))
	case *string:
		if strings.ContainsRune(text, 0) {
			return flawf("remove it", "contains a NUL character")
		}
		*p = text
		return nil
	case *bool:
		switch text {
		case "true", "yes", "on":
			*p = true
		case "false", "no", "off":
			*p = false
		default:
			return flawf("write true or false", "%s is not true or false", quoted(text))
		}
		return nil
	case *int:
		i, err := strconv.Atoi(text)
		if err != nil || text[0] == '+' {
			return flawf("write digits only", "%s is not a whole number", quoted(text))
		}
		*p = i
		return nil
	}
	panic(fmt.Sprintf("config: no text form for %v", v.Type()))
}

// textOf is the inverse of setText.
func textOf(v reflect.Value) string {
	switch p := v.Interface().(type) {
	case time.Duration:
		return formatDuration(p)
	case string:
		return p
	case Replay:
		return string(p)
	case bool:
		return strconv.FormatBool(p)
	case int:
		return strconv.Itoa(p)
	case fmt.Stringer:
		return p.String()
	}
	panic(fmt.Sprintf("config: no text form for %v", v.Type()))
}

// parsePrefix parses a network. A single address becomes a network with one address.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, flawf("write an address or a network such as 10.0.0.0/8", "%s is not a network", quoted(text))
	}
	if p != p.Masked() {
		return p, flawf("write "+p.Masked().String(), "%s has bits beyond its mask", quoted(text))
	}
	return p, nil
}

// outOfRange checks v against a range such as "1..1024", in v's own notation.
func outOfRange(v reflect.Value, bounds string) *flaw {
	low, high, ok := strings.Cut(bounds, "..")
	lo, hi := reflect.New(v.Type()).Elem(), reflect.New(v.Type()).Elem()
	if !ok || setText(lo, low) != nil || setText(hi, high) != nil {
		panic(fmt.Sprintf("config: range %q of a field of type %v", bounds, v.Type()))
	}
	if compare(v, lo) >= 0 && compare(v, hi) <= 0 {
		return nil
	}
	side := "little"
	if compare(v, hi) > 0 {
		side = "much"
	}
	return flawf(fmt.Sprintf("write %s to %s", low, high), "%s is too %s", textOf(v), side)
}

func compare(a, b reflect.Value) int {
	if a.CanFloat() {
		return cmp.Compare(a.Float(), b.Float())
	}
	return cmp.Compare(a.Int(), b.Int())
}

func asFlaw(err error) *flaw {
	if f, ok := errors.AsType[*flaw](err); ok {
		return f
	}
	return &flaw{problem: clip(err.Error()), fix: "correct it"}
}

// clip returns a shortened text without quotes.
func clip(s string) string { q := quoted(s); return q[1 : len(q)-1] }
