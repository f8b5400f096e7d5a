package layout_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
)

var (
	// namedTests matches a test file of docs/admission.md without its ending, and the names of tests and subtests in it.
	namedTests = regexp.MustCompile(`([\w/]+): ((?:Test\w+|/[\w-]+)(?:/[\w-]+|, /[\w-]+|, Test\w+)*)`)
	// namedCases matches the names of cases.
	namedCases = regexp.MustCompile(`\bcases? ((?:\w+(?:\.(?:\w+|\\\*))+(?:, | and )?)+)`)
)

// Each test and each case that docs/admission.md names exists: the test in its file, with its subtests.
func TestAdmissionPageNamesTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/admission.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := namedTests.FindAllStringSubmatch(string(page), -1)
	cases := namedCases.FindAllStringSubmatch(string(page), -1)
	if len(tests) < 50 || len(cases) < 50 {
		t.Fatalf("found %d places with tests and %d with cases: the test must find those of all tables", len(tests), len(cases))
	}
	for _, m := range tests {
		file := m[1] + "_test.go"
		if !strings.Contains(file, "/") {
			file = filepath.Join("test/integration", file)
		}
		source, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Errorf("docs/admission.md names %q: %v", m[0], err)
			continue
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(m[2], ", ", "/"), "/") {
			words := "func " + name + "("
			if !strings.HasPrefix(name, "Test") {
				words = strings.ReplaceAll(name, "_", " ")
			}
			if !strings.Contains(string(source), words) {
				t.Errorf("docs/admission.md names %q: %s must contain %q", m[0], file, words)
			}
		}
	}
	ids := []string{apiserver.EveryPattern}
	for _, c := range apiserver.Tests() {
		ids = append(ids, c.ID)
	}
	for _, m := range cases {
		for id := range strings.FieldsFuncSeq(strings.ReplaceAll(m[1], " and ", ","), func(r rune) bool { return strings.ContainsRune(", ", r) }) {
			glob := strings.ReplaceAll(id, `\*`, "*")
			exists := slices.ContainsFunc(ids, func(id string) bool {
				matched, err := path.Match(glob, id)
				return err == nil && matched
			})
			if !exists {
				t.Errorf("docs/admission.md names the case %q: want the identifier of a case", glob)
			}
		}
	}
}
