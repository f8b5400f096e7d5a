package files

import (
	"fmt"
	"io"
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

// Pair leaves the content of a pipe to the library, which reads the pipe later.
func TestPairOfPipes(t *testing.T) {
	t.Parallel()
	const content = "a certificate"
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	if _, err := write.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	pipe := fmt.Sprint("/dev/fd/", read.Fd())
	if err := Pair("tls-cert-file", pipe, "tls-private-key-file", pipe); err != nil {
		t.Error(err)
	}
	if left, err := io.ReadAll(read); err != nil || string(left) != content {
		t.Errorf("want %q left in the pipe, got %q, %v", content, left, err)
	}
}
