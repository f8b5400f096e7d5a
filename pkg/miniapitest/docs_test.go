package miniapitest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The programs in docs/fixture.md are the examples, which other tests compile and run.
func TestDocs(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "fixture.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)<!-- (examples/[^ ]+) -->\n```[a-z]+\n(.*?)```\n").FindAllSubmatch(page, -1)
	if len(programs) != 5 {
		t.Errorf("want 5 programs, got %d", len(programs))
	}
	for _, program := range programs {
		want, err := os.ReadFile(filepath.Join(root, string(program[1])))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(program[2])); diff != "" {
			t.Errorf("%s (-example +docs):\n%s", program[1], diff)
		}
	}
}
