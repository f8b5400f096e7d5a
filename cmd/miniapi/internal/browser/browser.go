// Package browser opens links in the user's browser, by the program that each operating system has for that. [Open] is
// the way in. A command that uses the package also prints the link, because a machine may have no browser.
package browser

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// Open opens a link that signs its reader in. Every user of the machine can read the arguments of a program, so the
// argument is a file that leads to the link, in a folder that only the user can read. The file stays until the next Open
// replaces it.
func Open(ctx context.Context, link string) error {
	opener := Opener(runtime.GOOS)
	file, err := leadTo(link)
	if err == nil {
		err = exec.CommandContext(ctx, opener[0], append(opener[1:], file)...).Run()
	}
	if err != nil {
		return fmt.Errorf("%s can't open the link (%w)", opener[0], err)
	}
	return nil
}

// leadTo writes a page that leads to a link, and returns the path of its file.
func leadTo(link string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "miniapi", "sign-in")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		return "", err
	}
	file, escaped := filepath.Join(folder, "link.html"), html.EscapeString(link)
	page := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><title>miniapi</title><meta http-equiv="refresh" content="0; url=%[1]s"><a href="%[1]s">Open the page</a>`+"\n", escaped)
	return file, files.Replace(file, []byte(page), 0o600)
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
