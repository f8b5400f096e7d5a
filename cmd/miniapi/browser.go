package main

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

// openInBrowser opens a link that signs its reader in, by the program that the operating system has for links. A machine
// may have no browser, so the caller also prints the link. Every user of the machine can read the arguments of a program, so the
// argument is a file that leads to the link, in a folder that only the user can read. The file stays until the next call
// replaces it.
func openInBrowser(ctx context.Context, link string) error {
	opener := linkOpener(runtime.GOOS)
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
	if err := os.Chmod(folder, 0o700); err != nil { //nolint:gosec // it is a folder
		return "", err
	}
	file, escaped := filepath.Join(folder, "link.html"), html.EscapeString(link)
	page := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><title>miniapi</title><meta http-equiv="refresh" content="0; url=%[1]s"><a href="%[1]s">Open the page</a>`+"\n", escaped)
	return file, files.Replace(file, []byte(page), 0o600)
}

// linkOpener returns the command that opens a link on an operating system.
func linkOpener(system string) []string {
	switch system {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}
