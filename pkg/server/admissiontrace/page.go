package admissiontrace

import (
	"crypto/sha256"
	_ "embed" // for page.html
	"encoding/base64"
	"net/http"
	"strings"
)

// page is the web page at Prefix: markup, style and script. It loads no other files, and reads its data from the paths
// below Prefix.
//
//go:embed page.html
var page string

// pagePolicy returns the page's Content-Security-Policy. The policy allows only the page's own script and style. It
// forbids the script to turn text into markup, because the page shows values of objects, and any client may have
// written these values.
func pagePolicy() string {
	return strings.Join([]string{
		"default-src 'none'", "script-src " + hashOf("script"), "style-src " + hashOf("style"), "connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; ")
}

// hashOf returns the hash of the content of an HTML element, in the form of a Content-Security-Policy.
func hashOf(element string) string {
	_, after, _ := strings.Cut(page, "<"+element+">")
	content, _, _ := strings.Cut(after, "</"+element+">")
	hash := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// show serves the page.
func show(w http.ResponseWriter, _ *http.Request) error {
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": pagePolicy(), "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin",
	} {
		w.Header().Set(name, value)
	}
	_, _ = w.Write([]byte(page)) // the client may have gone
	return nil
}
