package environment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Expand replaces references of the form $(NAME) to variables. $$ stands for $. A reference to an unknown variable stays
// as it is.
func Expand(text string, variables map[string]string) string {
	return expand(text, func(name string) string {
		value, ok := variables[name]
		if !ok {
			value = "$(" + name + ")"
		}
		return value
	})
}

// ExpandPath replaces references to variables as Expand does. A variable that is unknown or empty is an error, which is that
// of the kubelet.
func ExpandPath(text string, variables map[string]string) (string, error) {
	missing := map[string]bool{}
	path := expand(text, func(name string) string {
		if variables[name] == "" {
			missing[name] = true
		}
		return variables[name]
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("missing value for %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return path, nil
}

func expand(text string, value func(name string) string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, closed := strings.Cut(after, ")")
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteString("$")
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed:
			b.WriteString(value(name[1:]))
			text = rest
		default:
			b.WriteString("$")
			text = after
		}
	}
}
