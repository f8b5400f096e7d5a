// Package browser opens links in the user's browser, by the program that each operating system has for that. [Open] is
// the way in. A command that uses the package also prints the link, because a machine may have no browser.
package browser

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
)

// Open opens a link. The error names the program that has failed.
func Open(ctx context.Context, link string) error {
	opener := Opener(runtime.GOOS)
	if err := exec.CommandContext(ctx, opener[0], append(opener[1:], link)...).Run(); err != nil {
		return fmt.Errorf("%s can't open the link (%w)", opener[0], err)
	}
	return nil
}

// Opener returns the command that opens a link on an operating system.
func Opener(system string) []string {
	switch system {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}
