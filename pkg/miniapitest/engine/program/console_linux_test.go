package program

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// inTerminal is the environment variable by which a child process of TestConsole gets the cache folder.
const inTerminal = "MINIAPITEST_TERMINAL"

// Lines about a build appear in the terminal of the test process at once, although the go command keeps the standard
// error of tests to itself.
func TestConsole(t *testing.T) {
	fakeGo(t, `echo program > "$5"`)
	ours, theirs := openTerminal(t)
	child := exec.Command(os.Args[0], "-test.run=^TestInTerminal$")
	child.Env = append(os.Environ(), inTerminal+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	child.ExtraFiles = []*os.File{theirs}
	output, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if strings.Contains(string(output), "building") {
		t.Errorf("want the lines in the terminal alone, got them in the output, too: %s", output)
	}
	lines := bufio.NewScanner(ours)
	for _, want := range []string{"miniapitest: building miniapi v1.2.3, once", "miniapitest: built miniapi v1.2.3 in "} {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
			t.Errorf("want a line %q in the terminal, got %q, %v", want, lines.Text(), lines.Err())
		}
	}
}

// TestInTerminal is the child process of TestConsole.
func TestInTerminal(t *testing.T) {
	cache := os.Getenv(inTerminal)
	if cache == "" {
		t.Skip("only TestConsole runs this test")
	}
	if _, err := ofVersion(context.Background(), cache, "v1.2.3", ""); err != nil {
		t.Fatal(err)
	}
}

// openTerminal returns the two ends of a new terminal. The second one is for a program.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	open := func(path string) *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	ours = open("/dev/ptmx")
	var locked, number uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(unsafe.Pointer(value))); err != 0 {
			t.Fatal(err)
		}
	}
	return ours, open(fmt.Sprintf("/dev/pts/%d", number))
}
