package cli

import (
	"runtime"
	"strings"
)

// Quoted returns a path with the quotes that a shell needs to read it. An empty path is a pair of quotes.
func Quoted(path string) string {
	if path != "" && !strings.ContainsAny(path, " \t\n'\"\\$`*?[](){}<>|&;~#!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// Exported returns the command by which a shell sets an environment variable to a path. On Windows, the shell is PowerShell.
func Exported(name, path string) string { return exported(runtime.GOOS, name, path) }

func exported(system, name, path string) string {
	if system == "windows" {
		return "$env:" + name + " = '" + strings.ReplaceAll(path, "'", "''") + "'"
	}
	return "export " + name + "=" + Quoted(path)
}
