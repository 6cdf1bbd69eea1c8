package queue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxAttributeName = 256 // and type

// AttributesFault returns what SQS refuses about the attributes of a message: too many, a
// name, a type, or a value that its type does not allow. "" means that they are fine.
func AttributesFault(attributes map[string]Attribute) string {
	if len(attributes) > MaxAttributes {
		return fmt.Sprintf("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(attributes), MaxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if text := nameFault(name); text != "" {
			return text
		}
		if text := valueFault(name, attributes[name]); text != "" {
			return text
		}
	}
	return ""
}

func nameFault(name string) string {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return "The message attribute name must not be empty."
	case len(name) > maxAttributeName:
		return fmt.Sprintf("Message (user) attribute name must be shorter than %d bytes.", maxAttributeName)
	case strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
		return "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'."
	case name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, ".."):
		return fmt.Sprintf("The message attribute name '%s' can neither begin nor end with a dot, nor hold two in a row.", name)
	}
	for _, c := range name { // letters of any language, as AWS takes them
		if c == utf8.RuneError || !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c) && c != '-' && c != '_' && c != '.' {
			return fmt.Sprintf("The message attribute name '%.100s' is invalid: it can have letters, digits, hyphens, underscores and dots.", name)
		}
	}
	return ""
}

func valueFault(name string, a Attribute) string {
	kind, _, _ := strings.Cut(a.DataType, ".")
	binary := kind == "Binary"
	switch {
	case a.DataType == "":
		return fmt.Sprintf("The message attribute '%s' must contain a non-empty message attribute type.", name)
	case len(a.DataType) > maxAttributeName || strings.ContainsFunc(a.DataType, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Sprintf("The type of message (user) attribute '%s' is invalid.", name)
	case !slices.Contains([]string{"String", "Number", "Binary"}, kind):
		return fmt.Sprintf("The type of message (user) attribute '%s' is invalid. You must use only the following supported type prefixes: Binary, Number, String.", name)
	case binary && a.String != "" || !binary && len(a.Binary) > 0:
		return fmt.Sprintf("The message attribute '%s' with type '%s' must use field '%s'.", name, kind, map[bool]string{true: "Binary", false: "String"}[binary])
	case binary && len(a.Binary) == 0 || !binary && a.String == "":
		return fmt.Sprintf("Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, a.DataType)
	case kind == "Number" && !numeral(a.String):
		return fmt.Sprintf("Can't cast the value of message (user) attribute '%s' to a number.", name)
	}
	return ""
}

// numeral reports whether a text is a number in decimal digits.
func numeral(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && !strings.ContainsAny(s, "xXpP_")
}
