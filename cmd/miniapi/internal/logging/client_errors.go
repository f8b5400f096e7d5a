package logging

import (
	"bytes"
	"slices"
)

// clientErrors are texts in entries that k8s.io/apiserver logs as errors of the server, although a client has made the
// error. The client gets the error in the response, or has closed the connection.
var clientErrors = [][]byte{
	[]byte(`"Couldn't parse request"`),
	[]byte("Error - invalid timeout specified in the request URL"),
	// k8s.io/apiserver logs these three texts if a client ends a request early, or if a request has a short timeout.
	[]byte(`"Post-timeout activity"`),
	[]byte(`"Timeout or abort while handling"`),
	[]byte("apiserver was unable to write a "),
}

// notStatus is the beginning of entries about errors that k8s.io/apiserver sends to clients unchanged, with code 500.
var notStatus = []byte("apiserver received an error that is not an metav1.Status: ")

// requestErrors are the Go types of errors that a client's request causes: a patch that doesn't apply, an invalid
// resource version, a closed connection. Entries that begin with notStatus name the type of their error. Most failures
// of the storage have other types.
var requestErrors = [][]byte{
	[]byte("&errors.errorString{"),
	[]byte("&strconv.NumError{"),
	[]byte("storage.InvalidError{"),
	[]byte("context.deadlineExceededError{"),
	[]byte("&net.OpError{"),
	[]byte("http2.StreamError{"),
}

// conversion is the beginning of the errors of conversion webhooks. Such an error has one of the types in
// requestErrors, but is an error of the server.
var conversion = []byte("conversion webhook for ")

func isClientError(entry []byte) bool {
	if _, err, ok := bytes.Cut(entry, notStatus); ok {
		return !bytes.Contains(err, conversion) &&
			slices.ContainsFunc(requestErrors, func(kind []byte) bool { return bytes.HasPrefix(err, kind) })
	}
	return slices.ContainsFunc(clientErrors, func(part []byte) bool { return bytes.Contains(entry, part) })
}
