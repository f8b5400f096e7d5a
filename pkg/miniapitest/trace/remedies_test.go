package trace

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// docs/webhooks.md and the answers of "miniapi trace why" name the same remedies for the same errors.
func TestRemediesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| error | remedy |\n| --- | --- |\n")
	if !found {
		t.Fatal("docs/webhooks.md has no table of errors")
	}
	var documented []Remedy
	for _, line := range strings.Split(table, "\n") {
		row, isRow := strings.CutPrefix(strings.TrimSuffix(line, " |"), "| `")
		if !isRow {
			break
		}
		failure, remedy, _ := strings.Cut(row, "` | ")
		documented = append(documented, Remedy{failure, strings.ReplaceAll(remedy, "`", "")})
	}
	if !slices.Equal(Remedies, documented) {
		t.Errorf("want the table of docs/webhooks.md to have the rows\n%q, got\n%q", Remedies, documented)
	}
}

func TestRemedyFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, message, want string }{
		{"part", "the error is a part of the message",
			`failed to call webhook: Post "https://a/": dial tcp 127.0.0.1:1: connect: connection refused`,
			"start the webhook, and compare the address at which it listens"},
		{"variable", "… stands for any text", "no service port 8443 found for service \"a\"",
			"set clientConfig.service.port to a port of the service; its default is 443"},
		{"order", "the parts of an error are in order", "not found after service", ""},
		{"unknown", "the cause is unknown", "something else", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := remedyFor(test.message); got != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}
