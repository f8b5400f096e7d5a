package cli

import "strings"

// Quoted returns a path in the form that shells read.
func Quoted(path string) string {
	if !strings.ContainsAny(path, " \t\n'\"\\$`*?[](){}<>|&;~#!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
