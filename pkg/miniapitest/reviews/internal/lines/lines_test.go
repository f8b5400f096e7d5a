package lines

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	numbers := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	for _, test := range []struct{ name, reason, before, after, want string }{
		{"same", "equal texts have no difference", numbers, numbers, ""},
		{"replaced", "three lines around a difference show its place", numbers,
			strings.Replace(numbers, "6\n", "six\n", 1), "@@ -3 +3 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n"},
		{"inserted", "lines behind an insertion are equal", "a\nb\nc\n", "a\nx\nb\nc\n", "@@ -1 +1 @@\n a\n+x\n b\n c\n"},
		{"removed", "lines behind a removal are equal", "a\nb\nc\n", "a\nc\n", "@@ -1 +1 @@\n a\n-b\n c\n"},
		{"two groups", "far differences are shown apart", numbers, "one\n" + numbers[2:] + "13\n",
			"@@ -1 +1 @@\n-1\n+one\n 2\n 3\n 4\n@@ -10 +10 @@\n 10\n 11\n 12\n+13\n"},
		{"newline missing", "the texts have the same lines, and only the second one ends with a newline", "a\nb",
			"a\nb\n", "@@ -1 +1 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		{"newline missing in both", "a line without a newline is shown as such near a difference", "a\nb", "x\nb",
			"@@ -1 +1 @@\n-a\n+x\n b\n\\ No newline at end of file\n"},
		{"empty line at the end", "an empty line is a line", "a\n", "a\n\n", "@@ -1 +1 @@\n a\n+\n"},
		{"empty text", "an empty text has no line", "", "a\n", "@@ -1 +1 @@\n+a\n"},
		{"a text that says so", "a line that looks like the note is a line", "a", "a\n\\ No newline at end of file",
			"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n+\\ No newline at end of file\n\\ No newline at end of file\n"},
		{"moved", "a common subsequence keeps its order", "a\nb\n", "b\na\n", "@@ -1 +1 @@\n-a\n b\n+a\n"},
	} {
		if got := Diff(test.before, test.after); got != test.want {
			t.Errorf("%s: %s: want\n%s\ngot\n%s", test.name, test.reason, test.want, got)
		}
	}
}

// If two texts are too large for Diff's table, Diff shows all lines from the first to the last difference as different.
func TestDiffOfLargeTexts(t *testing.T) {
	t.Parallel()
	const lines = 3000
	got := Diff(strings.Repeat("a\nb\n", lines/2), strings.Repeat("c\nb\n", lines/2))
	if got := strings.Count(got, "\n"); got != 1+2*lines-1 { // only the last line is equal
		t.Errorf("want %d lines and a header, got %d", 2*lines-1, got)
	}
}
