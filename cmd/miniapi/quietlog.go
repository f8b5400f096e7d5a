package main

import (
	"bytes"
	"io"
	"slices"
	"sync/atomic"
)

// quietLog passes on warnings and errors while it is open. Before a server is ready,
// and when it is told to stop, what matters is the error that the command ends with.
type quietLog struct {
	to     io.Writer
	opened atomic.Bool
}

func (l *quietLog) open()  { l.opened.Store(true) }
func (l *quietLog) close() { l.opened.Store(false) }

// Write takes one entry, which begins with the letter of its severity.
func (l *quietLog) Write(entry []byte) (int, error) {
	if l.opened.Load() && len(entry) > 0 && entry[0] != 'I' && !isClientError(entry) {
		return l.to.Write(entry)
	}
	return len(entry), nil
}

// clientErrors are parts of the entries that the library logs as errors of the server, of what is wrong with a request:
// the client is told, or is gone.
var clientErrors = [][]byte{
	[]byte(`"Couldn't parse request"`),
	[]byte("Error - invalid timeout specified in the request URL"),
	// The client, or the timeout in its request, has ended what was being served.
	[]byte(`"Post-timeout activity"`),
	[]byte(`"Timeout or abort while handling"`),
	[]byte("apiserver was unable to write a "),
}

// notStatus is how the library logs errors that it tells a client as they are, with code 500.
var notStatus = []byte("apiserver received an error that is not an metav1.Status: ")

// requestErrors are the Go types of such errors where the request is at fault: a patch that doesn't fit, a resource
// version that is none, a client that is gone. What the storage or a conversion fails with has other types.
var requestErrors = [][]byte{
	[]byte("&errors.errorString{"),
	[]byte("&strconv.NumError{"),
	[]byte("storage.InvalidError{"),
	[]byte("context.deadlineExceededError{"),
	[]byte("&net.OpError{"),
	[]byte("http2.StreamError{"),
}

// conversion is in the errors of conversion webhooks, which are texts, too.
var conversion = []byte("conversion webhook for ")

func isClientError(entry []byte) bool {
	if _, err, ok := bytes.Cut(entry, notStatus); ok {
		return !bytes.Contains(err, conversion) &&
			slices.ContainsFunc(requestErrors, func(kind []byte) bool { return bytes.HasPrefix(err, kind) })
	}
	return slices.ContainsFunc(clientErrors, func(part []byte) bool { return bytes.Contains(entry, part) })
}
