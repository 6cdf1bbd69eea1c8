package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/bezoar-dev/bezoar/internal/cli/cmdline"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// spoken formats an error for people: what was attempted, then the cause, each once. Both sides of the admin API add what
// they attempted, and an SDK has its own wording.
func spoken(err error) string {
	text := err.Error()
	if before, _, ok := strings.Cut(text, "operation error "); ok {
		text = before + sdkCause(err)
	}
	first, rest, more := strings.Cut(text, "\n")
	first = strings.TrimSuffix(first, ": invalid argument") // what comes before says which, and why
	first = strings.Replace(first, "already: file already exists", "already", 1)
	parts := strings.Split(first, ": ")
	kept := parts[:0]
	for i, part := range parts {
		repeated := len(kept) > 0 && strings.HasSuffix(kept[len(kept)-1], part) && wordEnds(kept[len(kept)-1], part)
		begins := i+1 < len(parts) && strings.HasPrefix(parts[i+1], part+" ") // "plan: plan to discard"
		if !repeated && !begins {
			kept = append(kept, part)
		}
	}
	text = onceDialled(strings.Join(kept, ": "))
	if more {
		text += "\n" + rest
	}
	text = zeroTime.ReplaceAllString(text, "$1")
	return cleanLines(text) // it may name what somebody sent
}

// zeroTime matches the end of a duration such as 12h0m0s.
var zeroTime = regexp.MustCompile(`\b(\d+h|(?:\d+h)?\d+m)(?:0m)?0s\b`)

// dialled matches how Go says that it could not connect.
var dialled = regexp.MustCompile(`dial (?:tcp|unix) (\S+): connect: `)

// onceDialled removes "dial tcp ADDRESS: connect: " if the text before it has the address.
func onceDialled(text string) string {
	at := dialled.FindStringSubmatchIndex(text)
	if at == nil || !strings.Contains(text[:at[0]], text[at[2]:at[3]]) {
		return text
	}
	return text[:at[0]] + text[at[1]:]
}

// wordEnds reports whether text ends with suffix at the beginning of a word.
func wordEnds(text, suffix string) bool {
	return len(text) == len(suffix) || text[len(text)-len(suffix)-1] == ' '
}

// sdkCause returns the cause from an AWS SDK's error, without the SDK's wording.
func sdkCause(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return strings.TrimSuffix(api.ErrorMessage(), ".") + " (" + api.ErrorCode() + ")"
	}
	if res, ok := foreign(err); ok {
		return fmt.Sprintf("the server there answers, but not as Amazon SQS does: %d %s", res.HTTPStatusCode(), http.StatusText(res.HTTPStatusCode()))
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return sent.URL + ": " + sent.Err.Error()
	}
	var last error
	for e := err; e != nil; e = errors.Unwrap(e) {
		last = e
	}
	return last.Error()
}

// foreign returns the answer of a server that does not speak the queue's protocol.
func foreign(err error) (*smithyhttp.ResponseError, bool) {
	if _, unread := errors.AsType[*smithy.DeserializationError](err); !unread {
		return nil, false
	}
	return errors.AsType[*smithyhttp.ResponseError](err)
}

// suggest adds existing names to a not-found error: the nearest one, or a few. It asks the running Bezoar for names of the
// kind that the argument or flag wants.
func (s *session) suggest(err error, command *cmdline.Command) error {
	if codeOf(err) != exitNotFound || hintFor(err) != "" {
		return err
	}
	path := command.FullPath()
	ask := namesCmd{}
	for _, f := range command.AllFlags() {
		if f.Name == "admin" {
			ask.Admin, _ = reflect.TypeAssert[string](f.Target)
		}
	}
	for _, given := range givenNames(command, path) {
		ask.Kind = given.kind
		names := ask.names(s)
		if len(names) == 0 || given.value == "" || slices.Contains(names, given.value) {
			continue
		}
		if near := config.Nearest(given.value, names); near != "" {
			return hinted(err, "did you mean %s?", near)
		}
		const most = 8
		more := ""
		if len(names) > most {
			names, more = names[:most], ", …"
		}
		return hinted(err, "known %s: %s", given.kind, strings.Join(names, ", ")+more)
	}
	return err
}

// given is a name on the command line, and its kind.
type given struct{ kind, value string }

// givenNames returns the names that the running Bezoar could know.
func givenNames(command *cmdline.Command, path string) (all []given) {
	add := func(kind string, v *cmdline.Value) {
		if kind != "queues" && kind != "fleets" && kind != "flows" {
			return
		}
		switch value := v.Target.Interface().(type) {
		case string:
			all = append(all, given{kind, value})
		case []string:
			for _, one := range value {
				all = append(all, given{kind, one})
			}
		}
	}
	for _, arg := range command.Arguments {
		add(kindOf(path, arg.Name), arg)
	}
	for _, f := range command.AllFlags() {
		add(kindOf(path, "--"+f.Name), f)
	}
	return all
}

// names ignores errors: the first error is the one to print.
func (c *namesCmd) names(s *session) []string {
	api, err := c.client(s)
	if err != nil {
		return nil
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(s, namesPatience)
	defer cancel()
	all, err := c.list(ctx, api)
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range all[:min(len(all), maxNames)] {
		if plainWord(name) {
			names = append(names, name)
		}
	}
	return names
}
