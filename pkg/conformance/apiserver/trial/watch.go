package trial

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Watch is a watch in progress.
type Watch struct {
	t      *T
	events chan Object
	// Code is the status code of the response. There are events only if it is 200.
	Code int
	body []byte
}

// Watch starts a watch of a collection. The watch ends at the end of the case at the latest.
func (t *T) Watch(r Resource, query ...string) *Watch {
	request := Request{Verb: http.MethodGet, Path: t.Path(r, ""), Query: append([]string{"watch=true"}, query...)}
	t.mu.Lock()
	t.sent = request.words()
	t.mu.Unlock()
	response, err := t.Server.open(t.Context(), request) //nolint:bodyclose // the goroutine that decodes the events closes the body
	if err != nil {
		t.fatal("a watch begins", err)
	}
	w := &Watch{t: t, events: make(chan Object, 1000), Code: response.StatusCode}
	if w.Code != http.StatusOK {
		defer response.Body.Close()
		w.body = make([]byte, 1000)
		n, _ := response.Body.Read(w.body) // the beginning of an error is enough for a finding
		w.body = w.body[:n]
		close(w.events)
		return w
	}
	go func() {
		defer response.Body.Close()
		defer close(w.events)
		decoder := json.NewDecoder(response.Body)
		for {
			event := Object{}
			if decoder.Decode(&event) != nil {
				return
			}
			select {
			case w.events <- event:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return w
}

// Next returns the next event. If none comes within the limit, the case fails.
func (w *Watch) Next(limit time.Duration) Object {
	event, open := w.wait(limit)
	if !open {
		w.t.FailNow("an event of the watch", "the watch has ended with code "+fmt.Sprint(w.Code)+" "+string(w.body))
	}
	if event == nil {
		w.t.FailNow("an event of the watch", "no event in "+limit.String())
	}
	return event
}

// Ends returns the next event, or nil if the watch ends before. If neither comes within the limit, the case fails.
func (w *Watch) Ends(limit time.Duration) Object {
	event, open := w.wait(limit)
	if open && event == nil {
		w.t.FailNow("an event of the watch, or its end", "neither in "+limit.String())
	}
	return event
}

// Ended returns when the watch has ended. If it doesn't end within the limit, the case fails.
func (w *Watch) Ended(limit time.Duration) {
	deadline := time.Now().Add(limit)
	for {
		event, open := w.wait(time.Until(deadline))
		if !open {
			return
		}
		if event == nil {
			w.t.FailNow("the watch ends", "it goes on after "+limit.String())
		}
	}
}

// wait returns the next event, or nil if none comes within the limit. The second result is false if the watch or the
// case has ended.
func (w *Watch) wait(limit time.Duration) (Object, bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case event, open := <-w.events:
		return event, open
	case <-timer.C:
		return nil, true
	case <-w.t.Context().Done():
		return nil, false
	}
}
