package runtimehooks_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// files maps a word to a pattern of test files. docs/runtime-hooks.md uses these words to name the tests in the files.
var files = map[string]string{
	"integration": "../../test/integration/runtime_hooks*_test.go",
	"clusterapi":  "../../test/clusterapi/*_test.go",
	"cmd":         "../../cmd/miniapi/hooks_test.go",
}

// TestDocs checks that each test that docs/runtime-hooks.md names exists, with its subtests.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/runtime-hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "## The promises and their tests")
	if !found {
		t.Fatal("docs/runtime-hooks.md has no promises")
	}
	reference := regexp.MustCompile(`([a-z/]+): ((?:Test\w+(?:/\w+)?(?:, )?)(?:(?:Test\w+|\w+)(?:/\w+)?(?:, )?)*)`)
	checked := 0
	for _, row := range strings.Split(table, "\n| ") {
		cells := strings.Split(row, " | ")
		if len(cells) < 3 {
			continue
		}
		for _, match := range reference.FindAllStringSubmatch(cells[2], -1) {
			source := read(t, match[1])
			for _, name := range strings.Split(strings.TrimSuffix(match[2], ", "), ", ") {
				test, subtest, _ := strings.Cut(name, "/")
				if !strings.HasPrefix(test, "Test") {
					subtest, test = test, "" // another subtest of the test that was named before
				}
				if test != "" && !strings.Contains(source, "func "+test+"(") {
					t.Errorf("%s has no %s", match[1], test)
				}
				if subtest != "" && !strings.Contains(source, `"`+strings.ReplaceAll(subtest, "_", " ")+`"`) {
					t.Errorf("%s has no case %q", match[1], subtest)
				}
				checked++
			}
		}
	}
	if checked < 80 {
		t.Errorf("%d tests were found in the table", checked)
	}
}

// read returns the source of the tests in a folder below pkg/runtimehooks. If the name is a key of files, read
// returns the source of these files instead.
func read(t *testing.T, folder string) string {
	t.Helper()
	pattern, ok := files[folder]
	if !ok {
		pattern = folder + "/*_test.go"
		if strings.HasPrefix(folder, "api/") {
			pattern = folder + "/*/*_test.go"
		}
	}
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no tests in %s: %v", pattern, err)
	}
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
