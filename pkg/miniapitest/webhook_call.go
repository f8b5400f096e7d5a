package miniapitest

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// call runs a handler. If the handler panics or ends its goroutine, call answers with an error. Without the answer, the
// test would only see a closed connection. The handler runs in a goroutine of its own, because t.FailNow ends the
// goroutine.
func call(handler http.Handler, log *serverLog, w http.ResponseWriter, r *http.Request) {
	ended := make(chan error, 1)
	go func() {
		returned := false
		defer func() { ended <- answerEnd(log, w, r, returned, recover()) }()
		handler.ServeHTTP(w, r)
		returned = true
	}()
	if err := <-ended; err != nil {
		panic(err) //nolint:forbidigo // net/http expects this value
	}
}

// answerEnd answers in place of a handler that hasn't returned. It returns the value of a panic that net/http must see,
// or nil.
func answerEnd(log *serverLog, w http.ResponseWriter, r *http.Request, returned bool, panicked any) error {
	err, _ := panicked.(error)
	switch {
	case returned:
	case errors.Is(err, http.ErrAbortHandler):
		return err
	case panicked != nil:
		log.note("the webhook %s has panicked: %v\n%s", r.URL.Path, panicked, debug.Stack())
		http.Error(w, fmt.Sprintf("the handler has panicked: %v", panicked), http.StatusInternalServerError)
	default:
		http.Error(w, "the handler has ended its goroutine, as t.FailNow, t.Fatal and t.Skip do: only a test's own goroutine may; a handler can call t.Error and return",
			http.StatusInternalServerError)
	}
	return nil
}
