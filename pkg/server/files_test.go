package server

import (
	"errors"
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
func TestFilesLeavePipes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		check func(file string) []error
	}{
		{"anything", func(file string) []error { return []error{checkReadable("token-auth-file", file)} }},
		{"authorities", func(file string) []error { return []error{checkAuthorities("client-ca-file", file)} }},
		{"encryption", func(file string) []error {
			o := NewOptions().Etcd
			o.EncryptionProviderConfigFilepath = file
			return []error{checkEncryption(o)}
		}},
		{"authentication", func(file string) []error {
			o := NewOptions().Authentication
			o.ConfigFile = file
			return checkAuthenticationFiles(o)
		}},
		{"authorities of an issuer", func(file string) []error {
			o := NewOptions().Authentication
			o.OIDC.IssuerURL, o.OIDC.ClientID, o.OIDC.CAFile = "https://127.0.0.1", "a", file
			return checkAuthenticationFiles(o)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const content = "not what anybody expects"
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			_, err = write.WriteString(content)
			if closed := write.Close(); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			if err := errors.Join(test.check(fmt.Sprintf("/dev/fd/%d", read.Fd()))...); err != nil {
				t.Error(err)
			}
			if left, err := io.ReadAll(read); err != nil || string(left) != content {
				t.Errorf("want %q left to read, got %q, %v", content, left, err)
			}
		})
	}
}
