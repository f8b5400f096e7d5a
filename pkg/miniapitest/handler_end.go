package miniapitest

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// serveToEnd calls a handler. If the handler panics or ends its goroutine, serveToEnd answers with an error. Without the answer,
// the test would only see a closed connection. Only the panic http.ErrAbortHandler closes the connection. The function
// note logs other panics. The handler runs in a goroutine of its own, because t.FailNow ends the goroutine.
func serveToEnd(handler http.Handler, note func(format string, args ...any), w http.ResponseWriter, r *http.Request) {
	ended := make(chan error, 1)
	go func() {
		returned := false
		defer func() { ended <- answerForEnded(note, w, r, returned, recover()) }()
		handler.ServeHTTP(w, r)
		returned = true
	}()
	if err := <-ended; err != nil {
		panic(err) //nolint:forbidigo // net/http expects this value
	}
}

// answerForEnded answers in place of a handler that has ended without returning: by a panic, or by the end of its goroutine.
// It returns the value of a panic that the caller must pass on to net/http, or nil.
func answerForEnded(note func(format string, args ...any), w http.ResponseWriter, r *http.Request, returned bool, panicked any) error {
	err, _ := panicked.(error)
	switch {
	case returned:
	case errors.Is(err, http.ErrAbortHandler):
		return err
	case panicked != nil:
		note("the webhook %s has panicked: %v\n%s", r.URL.Path, panicked, debug.Stack())
		http.Error(w, fmt.Sprintf("the handler has panicked: %v", panicked), http.StatusInternalServerError)
	default:
		http.Error(w, "the handler has ended its goroutine, as t.FailNow, t.Fatal and t.Skip do: call t.Error in the handler, and return",
			http.StatusInternalServerError)
	}
	return nil
}
