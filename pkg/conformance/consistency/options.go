package consistency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
)

// Options are the settings of a run.
type Options struct {
	// Configs are the client configurations of the servers, which have the same objects. Each client of the run talks to
	// one of them.
	Configs []*rest.Config
	// Duration is the time in which clients write.
	Duration time.Duration
	// Writes, if set, is the number of writes after which the clients stop, even if the duration hasn't passed.
	Writes int
	// Writers, Readers and Watchers are the numbers of clients of each kind. Another client watches each resource without
	// interruption.
	Writers, Readers, Watchers int
	// Others is the number of further objects of each resource in the namespace, which no client writes. They make lists
	// longer, and a server may answer long lists in another way than short ones.
	Others int
	// Seed decides what the clients do. How their requests interleave depends on the machine, too.
	Seed uint64
	// RequestTimeout is the time after which the outcome of a request without an answer is unknown. The default is
	// DefaultRequestTimeout.
	RequestTimeout time.Duration
	// Disturb, if set, injects faults while the clients write. Its context ends when they stop. Then it repairs what it
	// has broken, and returns the numbers of faults by their kinds.
	Disturb func(ctx context.Context) (map[string]int, error)
	// Patience is the longest time after the last write until every open watch has sent the write. The default is
	// DefaultPatience.
	Patience time.Duration
	// NamespacePatience is trial.Options.Patience, for the removal of the namespace.
	NamespacePatience time.Duration
}

// The defaults of the options.
const (
	DefaultDuration       = 30 * time.Second
	DefaultWriters        = 8
	DefaultReaders        = 4
	DefaultWatchers       = 6
	DefaultRequestTimeout = 10 * time.Second
	DefaultPatience       = time.Minute
)

// Defaulted returns the options with the defaults in place of zero values. Seed 0 stays.
func (o Options) Defaulted() Options {
	or := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	or(&o.Duration, DefaultDuration)
	or(&o.RequestTimeout, DefaultRequestTimeout)
	or(&o.Patience, DefaultPatience)
	for number, value := range map[*int]int{&o.Writers: DefaultWriters, &o.Readers: DefaultReaders, &o.Watchers: DefaultWatchers} {
		if *number == 0 {
			*number = value
		}
	}
	return o
}

// Validate returns all errors in the options.
func (o *Options) Validate() error {
	var errs []error
	if len(o.Configs) == 0 {
		errs = append(errs, errors.New("no client configuration: give that of a server"))
	}
	for _, limit := range []struct {
		flag  string
		value time.Duration
	}{{"duration", o.Duration}, {"request-timeout", o.RequestTimeout}, {"patience", o.Patience}} {
		if limit.value < 0 {
			errs = append(errs, fmt.Errorf("--%s %v: must be more than 0", limit.flag, limit.value))
		}
	}
	for _, number := range []struct {
		flag  string
		value int
	}{{"writes", o.Writes}, {"writers", o.Writers}, {"readers", o.Readers}, {"watchers", o.Watchers}, {"others", o.Others}} {
		if number.value < 0 {
			errs = append(errs, fmt.Errorf("--%s %d: must be more than 0", number.flag, number.value))
		}
	}
	return errors.Join(errs...)
}
