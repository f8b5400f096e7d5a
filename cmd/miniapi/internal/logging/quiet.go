package logging

import (
	"bytes"
	"io"
	"slices"
	"sync/atomic"
)

// Quiet passes on warnings and errors of the log while Quiet is open. A command closes Quiet before the server is ready
// and while the server stops: the command's own error is enough then.
type Quiet struct {
	To     io.Writer
	opened atomic.Bool
}

// Open lets entries pass.
func (l *Quiet) Open() { l.opened.Store(true) }

// Close drops entries from now on.
func (l *Quiet) Close() { l.opened.Store(false) }

// Write takes one entry. The entry begins with the letter of its severity.
func (l *Quiet) Write(entry []byte) (int, error) {
	if l.opened.Load() && len(entry) > 0 && entry[0] != 'I' && !isClientError(entry) {
		return l.To.Write(entry)
	}
	return len(entry), nil
}

// clientErrors are parts of entries that the library logs as errors of the server although a request is at fault. The
// client gets the error in the response, or has closed the connection.
var clientErrors = [][]byte{
	[]byte(`"Couldn't parse request"`),
	[]byte("Error - invalid timeout specified in the request URL"),
	// The client, or the timeout in the request, ended the request early.
	[]byte(`"Post-timeout activity"`),
	[]byte(`"Timeout or abort while handling"`),
	[]byte("apiserver was unable to write a "),
}

// notStatus begins the entries for errors that the library sends to clients unchanged, with code 500.
var notStatus = []byte("apiserver received an error that is not an metav1.Status: ")

// requestErrors are the Go types of such errors where the request is at fault: a patch that doesn't apply, an invalid
// resource version, a closed connection. Errors of the storage and of conversions have other types.
var requestErrors = [][]byte{
	[]byte("&errors.errorString{"),
	[]byte("&strconv.NumError{"),
	[]byte("storage.InvalidError{"),
	[]byte("context.deadlineExceededError{"),
	[]byte("&net.OpError{"),
	[]byte("http2.StreamError{"),
}

// conversion begins the errors of conversion webhooks. They have the Go type of a plain text too, but are the server's.
var conversion = []byte("conversion webhook for ")

func isClientError(entry []byte) bool {
	if _, err, ok := bytes.Cut(entry, notStatus); ok {
		return !bytes.Contains(err, conversion) &&
			slices.ContainsFunc(requestErrors, func(kind []byte) bool { return bytes.HasPrefix(err, kind) })
	}
	return slices.ContainsFunc(clientErrors, func(part []byte) bool { return bytes.Contains(entry, part) })
}
