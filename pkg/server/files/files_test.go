package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "tokens.csv")
	if err := os.WriteFile(file, []byte("token,user,uid"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, reason, file, want string }{
		{"none", "the flag isn't given", "", ""},
		{"file", "the file can be read", file, ""},
		{"missing", "the error names the flag and the file", file + "x", "--token-auth-file " + file + "x: "},
		{"folder", "a folder can't be read as a file", folder, "is a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			switch err := Readable("token-auth-file", test.file); {
			case test.want == "" && err != nil:
				t.Errorf("%s: %v", test.reason, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: want %q, got %v", test.reason, test.want, err)
			}
		})
	}
}
