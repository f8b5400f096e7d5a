package cli

import "strings"

// Quoted returns a path with the quotes that a shell needs to read it. An empty path is a pair of quotes.
func Quoted(path string) string {
	if path != "" && !strings.ContainsAny(path, " \t\n'\"\\$`*?[](){}<>|&;~#!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
