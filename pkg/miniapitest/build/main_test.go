package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The command prints the path of the program that the fixture would start.
func TestBuild(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "run", ".")
	command.Env = append(os.Environ(), "MINIAPI="+program)
	if out, err := command.Output(); err != nil || strings.TrimSpace(string(out)) != program {
		t.Errorf("want %s, got %q, %v", program, out, err)
	}
}
