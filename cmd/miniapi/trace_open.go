package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/pkg/server/decisions"
)

// openPage requests a sign-in link from the server, prints the link, and opens it in the user's browser.
func openPage(ctx context.Context, server *kubeconfig.Server, out io.Writer) error {
	var signIn decisions.SignIn
	if err := ask(ctx, server, server.Client.Post().AbsPath(decisions.SignInPath), &signIn); err != nil {
		return err
	}
	link := strings.TrimSuffix(server.Host, "/") + signIn.Link
	fmt.Fprintf(out, "%s\nThe link works once, within %d seconds.\n", link, signIn.Seconds)
	opener := opener(runtime.GOOS)
	if err := exec.CommandContext(ctx, opener[0], append(opener[1:], link)...).Run(); err != nil {
		fmt.Fprintf(out, "%s can't open it (%v): open it in a browser.\n", opener[0], err)
	}
	return nil
}

// opener returns the command that opens a link on an operating system.
func opener(system string) []string {
	switch system {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}
