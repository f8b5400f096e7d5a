package recorder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// While 32 goroutines make requests, each of several followers gets each request, in the order of the ids.
func TestFollowersMissNothing(t *testing.T) {
	t.Parallel()
	const followers, clients, each = 3, 32, 50
	r := New(Limits{Requests: clients * each})
	done := errors.New("all have come")
	var ready, following sync.WaitGroup
	ready.Add(followers)
	for follower := range followers {
		following.Go(func() {
			names, last := map[string]bool{}, int64(0)
			err := r.Follow(t.Context(), Filter{}, sync.OnceValue(func() error { ready.Done(); return nil }), func(request *trace.Request, missed int64) error {
				if missed != 0 || request.ID != last+1 {
					return fmt.Errorf("request %d follows request %d, and %d are missed", request.ID, last, missed)
				}
				last, names[request.Name] = request.ID, true
				if len(names) == clients*each {
					return done
				}
				return nil
			})
			if !errors.Is(err, done) {
				t.Errorf("follower %d, after %d requests: %v", follower, len(names), err)
			}
		})
	}
	ready.Wait()
	for client := range clients {
		following.Go(func() {
			for i := range each {
				record(r, fmt.Sprintf("%d-%d", client, i), 1)
			}
		})
	}
	following.Wait()
}

// If a caller of Follow is slower than the requests, it gets the number of requests that it has missed. The requests
// don't wait for the caller.
func TestSlowFollowersMissTheOldest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		filter       Filter
		// want has the arguments of each call: the number of missed requests, and the name of the request.
		want string
	}{
		{"all", "the recorder keeps three requests", Filter{}, "0 b, 6 a7, 0 a8, 0 a9"},
		{"filtered", "the filter selects none of the requests after the missed ones", Filter{Name: "b"}, "0 b, 6 -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := New(Limits{Requests: 3})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun := false
			var got []string
			err := r.Follow(ctx, test.filter, func() error {
				if begun {
					cancel()
					return nil
				}
				begun = true
				record(r, "b", 1)
				return nil
			}, func(request *trace.Request, missed int64) error {
				name := "-"
				if request != nil {
					name = request.Name
				}
				got = append(got, fmt.Sprint(missed, " ", name))
				if len(got) == 1 {
					for i := range 9 {
						record(r, fmt.Sprint("a", i+1), 1)
					}
				}
				return nil
			})
			if text := strings.Join(got, ", "); text != test.want || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: want %s, got %s and error %v", test.reason, test.want, text, err)
			}
		})
	}
}

// If Limits.Requests is 0, the recorder is on only while Follow runs. It doesn't keep a request that ends later.
func TestRecorderIsOffUntilFollowed(t *testing.T) {
	t.Parallel()
	r := New(Limits{})
	if r.On() || r.Begin(trace.Request{}) != nil {
		t.Error("want the recorder to be off")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	var late *Recording
	err := r.Follow(ctx, Filter{Name: "b"}, sync.OnceValue(func() error {
		late = r.Begin(trace.Request{Name: "late"})
		record(r, "a", 1)
		record(r, "b", 1)
		return nil
	}), func(request *trace.Request, _ int64) error {
		got = append(got, request.Name)
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || strings.Join(got, " ") != "b" {
		t.Errorf("want b until the context ends, got %s and error %v", got, err)
	}
	late.Finish()
	if r.On() || len(r.Requests(Filter{})) != 0 {
		t.Error("want the recorder to be off and empty again")
	}
}
