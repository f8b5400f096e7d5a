package main

import (
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		args         []string
		want         string // a part of the output
	}{
		{"listed", "people find it by the help", []string{"--help"}, "\n  completion "},
		{"script", "a shell reads it", []string{"completion", "bash"}, "__start_miniapi"},
		{"command", "scripts call the program back", []string{"__complete", "ser"}, "serve\t"},
		{"flag", "the shell completes miniapi's own flags, too", []string{"__complete", "serve", "--webhook-s"}, "--webhook-service\t"},
		{"manifests", "other files can't be applied", []string{"__complete", "serve", "--apply", ""}, "yaml\nyml\njson\n:8"},
		{"folder", "the value of the flag is a folder", []string{"__complete", "serve", "--data-dir", ""}, ":16"},
		{"format", "the flag has two values", []string{"__complete", "version", "-o", ""}, "json\nyaml\n:4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", test.args...).exit(t)
			if code != 0 || !strings.Contains(stdout, test.want) {
				t.Errorf("%s: want %q, got exit code %d, %q, and on stderr %q", test.reason, test.want, code, stdout, stderr)
			}
		})
	}
}
