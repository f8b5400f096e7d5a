package cli

import "strings"

// Quoted returns a path with the quotes that a shell needs to read it.
func Quoted(path string) string {
	if !strings.ContainsAny(path, " \t\n'\"\\$`*?[](){}<>|&;~#!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
