package server

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckReadable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "tokens.csv")
	if err := os.WriteFile(file, []byte("token,user,uid"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, reason, file, want string }{
		{"none", "the flag isn't given", "", ""},
		{"file", "it is there", file, ""},
		{"missing", "the flag and the file are named", file + "x", "--token-auth-file " + file + "x: "},
		{"folder", "nothing is in there", folder, "is a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			switch err := checkReadable("token-auth-file", test.file); {
			case test.want == "" && err != nil:
				t.Errorf("%s: %v", test.reason, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: want %q, got %v", test.reason, test.want, err)
			}
		})
	}
}

// What a shell's <(...) gives is read by whoever needs it, and by nobody before.
func TestCheckReadableLeavesPipes(t *testing.T) {
	t.Parallel()
	const tokens = "token,user,uid"
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	_, err = write.WriteString(tokens)
	if closed := write.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	if err := checkReadable("token-auth-file", fmt.Sprintf("/dev/fd/%d", read.Fd())); err != nil {
		t.Fatal(err)
	}
	if left, err := io.ReadAll(read); err != nil || string(left) != tokens {
		t.Errorf("want %q left to read, got %q, %v", tokens, left, err)
	}
}
