package environment

import "strings"

// Expand replaces references of the form $(NAME) to variables. $$ stands for $. A reference to an unknown variable stays
// as it is.
func Expand(text string, variables map[string]string) string {
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
			value, ok := variables[name[1:]]
			if !ok {
				value = "$" + name + ")"
			}
			b.WriteString(value)
			text = rest
		default:
			b.WriteString("$")
			text = after
		}
	}
}
