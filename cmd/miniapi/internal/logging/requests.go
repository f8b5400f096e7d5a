package logging

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Requests returns a function that logs a request. With a log in text format, it writes a line for people; otherwise,
// it writes an entry in the format of the log.
func Requests(o *logs.Options, to io.Writer) func(server.Request) {
	if o.Format != logsapi.DefaultLogFormat {
		return func(r server.Request) {
			klog.InfoS("Request", "verb", r.Verb, "uri", r.URI, "code", r.Code, "took", r.Took, "user", r.User, "as", r.As, "userAgent", r.UserAgent)
		}
	}
	var mu sync.Mutex
	return func(r server.Request) {
		line := requestLine(r)
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(to, line) // if the log can't be written, there is no place to report it
	}
}

// requestLine returns the time, code, duration, verb, URI, user and client of a request, separated by spaces.
func requestLine(r server.Request) string {
	user := word(r.User)
	if r.As != "" {
		user += " as " + word(r.As)
	}
	client, _, _ := strings.Cut(r.UserAgent, " ") // the name comes before the platform
	return fmt.Sprintf("%s %d %s %s %s %s %s\n", r.Received.Format("15:04:05.000"), r.Code, r.Took.Round(10*time.Microsecond),
		word(r.Verb), word(r.URI), user, word(client))
}

// word returns a text as one word of a line. For an empty text, it returns a hyphen.
func word(text string) string {
	switch {
	case text == "":
		return "-"
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }):
		return strconv.Quote(text)
	}
	return text
}
