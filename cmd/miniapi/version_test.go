package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// "miniapi version" prints the version in formats that scripts can parse.
func TestVersionFormats(t *testing.T) {
	t.Parallel()
	for format, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, into any) error { return yaml.UnmarshalStrict(text, into) },
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", "version", "-o", format).exit(t)
			var got apimachineryversion.Info
			if err := decode([]byte(stdout), &got); code != 0 || err != nil {
				t.Fatalf("exit code %d, %v, and on stderr %q:\n%s", code, err, stderr, stdout)
			}
			if diff := cmp.Diff(server.Version(), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
