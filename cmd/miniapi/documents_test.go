package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples of these sections run as they are printed, and print what is below them. The first block of a section
// runs in one terminal until the end, and the other blocks run in another terminal, both in a checkout.
func TestDocumentedWalks(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s must be in PATH to run the examples of the documents: %v", program, err)
		}
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("no kubectl in PATH: on Debian, apt-get install kubernetes-client")
	}
	for _, test := range []struct{ name, file, section string }{
		{"README", "README.md", "A webhook in 60 seconds"},
		{"webhooks", "docs/webhooks.md", "An example"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			steps := walk(t, test.file, test.section)
			server := terminal(t, t.Context(), steps[0].commands)
			line := <-startCommand(t, server).lines
			if check(t, steps[0], line+"\n"); t.Failed() {
				return
			}

			const end = "--- the end of a block"
			var script strings.Builder
			for _, step := range steps[1:] {
				script.WriteString(step.commands + "echo '" + end + "'\n")
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			user := terminal(t, ctx, script.String())
			output, err := user.CombinedOutput()
			if err != nil {
				t.Errorf("%v:\n%s", err, output)
			}
			printed := strings.Split(string(output), end+"\n")
			for i, step := range steps[1:] {
				if i == len(printed) {
					t.Fatalf("the walk ended before\n%s", step.commands)
				}
				check(t, step, printed[i])
			}
		})
	}
}

// step is a block of shell commands, and the text that it prints.
type step struct{ commands, prints string }

var (
	shellBlocks = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:```text\n(.*?)^```\n)?")
	background  = regexp.MustCompile(`(?m) &$`)
)

// walk returns the steps in a section of a document, in a folder and on ports of their own. After a block that starts a
// webhook in the background, a step waits until the webhook listens.
func walk(t *testing.T, file, section string) []step {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(document), "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %q", file, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	port := freePort(t)
	own := strings.NewReplacer("/tmp/demo", filepath.Join(t.TempDir(), "demo"), "9443", port, "miniapi serve", "exec miniapi serve --secure-port 0")
	var steps []step
	for _, block := range shellBlocks.FindAllStringSubmatch(text, -1) {
		commands := own.Replace(block[1])
		if background.MatchString(commands) {
			commands += "until (: < /dev/tcp/127.0.0.1/" + port + ") 2> /dev/null; do sleep 0.1; done\n"
		}
		steps = append(steps, step{commands, own.Replace(block[2])})
	}
	if len(steps) < 2 {
		t.Fatalf("section %q of %s has %d blocks of commands, want a walk", section, file, len(steps))
	}
	return steps
}

// terminal returns a shell in the checkout that runs commands, with the programs of this test.
func terminal(t *testing.T, ctx context.Context, commands string) *exec.Cmd { //nolint:revive // the test comes first
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(ctx, "bash", "-c", "cd '"+root+"'\n"+commands)
	shell.Env = append(os.Environ(), asProgram+"=1", "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir())
	return shell
}

// check compares what a step prints with the text in the document. The server has another port.
func check(t *testing.T, s step, got string) {
	t.Helper()
	want := strings.ReplaceAll(regexp.QuoteMeta(s.prints), ":6443", `:\d+`)
	if !regexp.MustCompile("^" + want + "$").MatchString(got) {
		t.Errorf("the commands\n%swant to print\n%s\ngot\n%s", s.commands, s.prints, got)
	}
}
