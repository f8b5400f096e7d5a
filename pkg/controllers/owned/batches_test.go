package owned_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
)

func TestSlowStart(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, test := range []struct {
		name, reason    string
		n, room         int
		calls, succeeds int
		want            error
	}{
		{"none", "nothing is to be done", 0, 10, 0, 0, nil},
		{"all", "all calls succeed", 10, 10, 10, 10, nil},
		{"no room", "the first batch has one call", 10, 0, 1, 0, refused},
		{"some room", "the batches of one, two and four calls are the last", 100, 5, 7, 5, refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			succeeded, err := owned.SlowStart(test.n, func(int) error {
				if int(calls.Add(1)) > test.room {
					return refused
				}
				return nil
			})
			if int(calls.Load()) != test.calls || succeeded != test.succeeds || !errors.Is(err, test.want) {
				t.Errorf("%s: want %d calls, %d without an error, and the error %v; got %d, %d, %v", test.reason, test.calls, test.succeeds, test.want, calls.Load(), succeeded, err)
			}
		})
	}
}
