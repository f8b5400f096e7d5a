package cli

import (
	"os/exec"
	"testing"
)

// A shell reads a quoted path as one argument, and as the same text.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, path, want string }{
		{"plain", "a path without special characters is easier to read without quotes", "/tmp/a-b_c.d", "/tmp/a-b_c.d"},
		{"empty", "without quotes, the shell sees no argument", "", "''"},
		{"blank", "a blank ends an argument", "/tmp/my files", "'/tmp/my files'"},
		{"variable", "the shell would replace the variable", "/tmp/$HOME", "'/tmp/$HOME'"},
		{"quote", "a quote can't be inside of quotes", "it's", `'it'\''s'`},
		{"newline", "a newline ends a command", "a\nb", "'a\nb'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Quoted(test.path)
			if got != test.want {
				t.Errorf("want %s, got %s (%s)", test.want, got, test.reason)
			}
			read, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s,%s' "+got+" end").Output()
			if err != nil || string(read) != test.path+",end" {
				t.Errorf("the shell reads %s as %q, error %v (%s)", got, read, err, test.reason)
			}
		})
	}
}

// The command of the ready line works in the shell of each system.
func TestExported(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, system, path, want string }{
		{"shell", "a POSIX shell needs quotes only around special characters", "linux", "/tmp/my files", "export KUBECONFIG='/tmp/my files'"},
		{"PowerShell", "PowerShell keeps backslashes, and doubles quotes", "windows", `C:\it's`, `$env:KUBECONFIG = 'C:\it''s'`},
	} {
		if got := exported(test.system, "KUBECONFIG", test.path); got != test.want {
			t.Errorf("%s: want %s because %s, got %s", test.name, test.want, test.reason, got)
		}
	}
}
