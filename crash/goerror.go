package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/bezoar-dev/bezoar"
)

// maxErrors bounds how many errors of one tree are looked at.
const maxErrors = 64

// FromError reports what an error is about. It follows Unwrap, including that of joined
// errors. Of the errors with a stack (StackTrace, Callers or Frames) it takes the
// innermost one with a frame of the own code of the user. Without a stack it uses the
// chain of types and the folded text: quality C. A nil error is bezoar.Done.
func FromError(err error) Report {
	p := Parser{table: languages()}
	return p.FromError(err)
}

// FromError is the function FromError with the Config of p.
func (p *Parser) FromError(err error) Report {
	if err == nil {
		return Report{Class: bezoar.Done}
	}
	lang := goError()
	f := found{trace: trace{chain: chainOf(err), fatal: true}, lang: &lang}
	why := []string{fmt.Sprintf("the error is a tree of %d", len(f.chain))}
	c := p.choose(&f, &why)
	c.kind = kinds(f.chain)
	root := f.chain[f.innermost(0)]
	if c.rests == Message {
		c.message = err.Error() // the words around the root are all that tells places apart
	}
	if c.code = codeOf(err); c.code == "" && c.rests != Message {
		c.code = fold(root.message) // two places may share a frame, and say different things
	}
	c.class = ""
	if class, ok := classOf(err); ok {
		c.class = class.String()
	}
	return c.report(why)
}

// goError is how errors take part in what the table of languages is made for.
func goError() language {
	lang := golang()
	lang.name = "go error"
	lang.vague = func(string) bool { return true }
	lang.kind = nil
	return lang
}

// chainOf lists the errors of a tree, the innermost first.
func chainOf(err error) []exception {
	var out []exception
	var visit func(err error, depth int)
	visit = func(err error, depth int) {
		if err == nil || len(out) >= maxErrors || depth >= maxErrors {
			return
		}
		switch u := err.(type) { //nolint:errorlint // walks the tree by itself
		case interface{ Unwrap() error }:
			visit(u.Unwrap(), depth+1)
		case interface{ Unwrap() []error }:
			for _, member := range u.Unwrap() {
				visit(member, depth+1)
			}
		case interface{ Cause() error }:
			if cause := u.Cause(); !same(cause, err) {
				visit(cause, depth+1)
			}
		}
		typ := reflect.TypeOf(err).String()
		out = append(out, exception{typ: typ, message: err.Error(), frames: stackOf(err), wrapper: isWrapper(typ)})
	}
	visit(err, 0)
	return out
}

// same compares errors that may be of a type that cannot be compared.
func same(a, b error) bool {
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && errors.Is(a, b)
}

// isWrapper reports types that only carry another error.
func isWrapper(typ string) bool {
	switch typ {
	case "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError", "*errors.withStack", "*errors.withMessage":
		return true
	}
	return false
}

// kinds is the chain of types, without those that only carry.
func kinds(chain []exception) string {
	var names []string
	for _, e := range chain {
		if !e.wrapper {
			names = append(names, e.typ)
		}
	}
	return strings.Join(names, " < ")
}

// stackOf returns the frames of an error that was made by a package that keeps
// them. There is no common interface, only common names. The names are constants in
// the calls: otherwise the linker keeps every method of every type.
func stackOf(err error) []Frame {
	v := reflect.ValueOf(err)
	for _, m := range [...]reflect.Value{v.MethodByName("StackTrace"), v.MethodByName("Callers"), v.MethodByName("Frames")} {
		if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 || m.Type().Out(0).Kind() != reflect.Slice {
			continue
		}
		if frames := framesOf(m.Call(nil)[0]); len(frames) > 0 {
			return frames
		}
	}
	return nil
}

// framesOf reads program counters and runtime.Frames.
func framesOf(list reflect.Value) []Frame {
	var out []Frame
	var pcs []uintptr
	for i := range min(list.Len(), maxFrames) {
		e := list.Index(i)
		if e.Kind() == reflect.Uintptr {
			pcs = append(pcs, uintptr(e.Uint()))
		} else if f, ok := reflect.TypeAssert[runtime.Frame](e); ok {
			out = append(out, runtimeFrame(f))
		}
	}
	if len(pcs) == 0 {
		return out
	}
	for it := runtime.CallersFrames(pcs); ; {
		f, more := it.Next()
		if f.Function != "" {
			out = append(out, runtimeFrame(f))
		}
		if !more {
			return out
		}
	}
}

// runtimeFrame makes the frame that the reader of panics would make.
func runtimeFrame(f runtime.Frame) Frame { return goMakeFrame(f.Function, f.File, f.Line) }

// codeOf returns the stable code that an error carries: errno, SQLSTATE or
// HTTP status.
func codeOf(err error) string {
	var (
		errno  syscall.Errno
		state  interface{ SQLState() string }
		status interface{ StatusCode() int }
		http   interface{ HTTPStatusCode() int }
	)
	switch {
	case errors.As(err, &state):
		return state.SQLState()
	case errors.As(err, &status):
		return strconv.Itoa(status.StatusCode())
	case errors.As(err, &http):
		return strconv.Itoa(http.HTTPStatusCode())
	case errors.As(err, &errno):
		return fold(errno.Error())
	}
	return ""
}

// classOf asks an error what it is instead of reading its words.
func classOf(err error) (bezoar.Class, bool) {
	var (
		dns     *net.DNSError
		timeout interface{ Timeout() bool }
	)
	switch {
	case errors.Is(err, context.Canceled):
		return bezoar.Interrupted, true
	case isOneOf(err, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ECONNABORTED, syscall.EPIPE),
		errors.As(err, &dns), errors.Is(err, net.ErrClosed):
		return bezoar.Outage, true
	case isOneOf(err, syscall.EAGAIN, syscall.ENOSPC, syscall.EDQUOT, syscall.ETIMEDOUT, syscall.EMFILE, syscall.ENFILE):
		return bezoar.Transient, true
	case errors.Is(err, syscall.ENOMEM):
		return bezoar.OOM, true
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return bezoar.Transient, true
	}
	if class, ok := byCode(codeOf(err)); ok {
		return class, true
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return bezoar.Bug, true
	}
	return bezoar.Done, false
}

func isOneOf(err error, targets ...syscall.Errno) bool {
	return slices.ContainsFunc(targets, func(t syscall.Errno) bool { return errors.Is(err, t) })
}

// FromPanic reports what a recovered panic is about. stack is the result of
// runtime/debug.Stack in the deferred function.
func FromPanic(v any, stack []byte) Report {
	p := Parser{table: languages()}
	return p.FromPanic(v, stack)
}

// FromPanic is the function FromPanic with the Config of p.
func (p *Parser) FromPanic(v any, stack []byte) Report {
	if v == nil {
		v = &runtime.PanicNilError{}
	}
	text := append([]byte("panic: "+panicText(v)+"\n\n"), stack...)
	r, err := p.ParseBytes(text)
	if err != nil {
		r = Report{Class: bezoar.Bug}
	}
	if e, ok := v.(error); ok {
		if class, ok := classOf(e); ok {
			r.Class = class
		}
	}
	return r
}

// panicText is the value as the runtime would print it.
func panicText(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr, float32, float64, complex64, complex128:
		return fmt.Sprintf("%T(%v)", v, v)
	}
	return fmt.Sprintf("(%T) %v", v, v)
}
