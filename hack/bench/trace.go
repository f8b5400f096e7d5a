//go:build unix

package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

const (
	// traceTurns is the number of measured turns of each server. turnCreates is the number of creates in a turn.
	traceTurns  = 60
	turnCreates = 150
	// turnHookedCreates is the number of creates in a turn with webhooks.
	turnHookedCreates = 40
	// traceFlag is the flag that makes a server record all requests.
	traceFlag = "--trace-requests=1000"
)

// measureTrace measures the processor time that the recording of all requests takes. Two servers get requests by turns,
// because the speed of the machine varies: one server records, and the other doesn't.
func measureTrace(ctx context.Context, t *table, binary string) (err error) {
	hooks := serveHooks()
	defer hooks.close()
	off, err := startTraced(ctx, t, binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, off.stop()) }()
	on, err := startTraced(ctx, t, binary, traceFlag)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.stop()) }()

	if err := byTurns(ctx, t, &tracedCreate, off, on, turnCreates); err != nil {
		return err
	}
	return off.withHooks(ctx, hooks, 3, 3, func() error {
		return on.withHooks(ctx, hooks, 3, 3, func() error { return byTurns(ctx, t, &tracedHooks, off, on, turnHookedCreates) })
	})
}

// traced is one of the two servers that get requests by turns.
type traced struct {
	*process
	*load
	// spent is the server's processor time in its measured turns.
	spent time.Duration
}

func startTraced(ctx context.Context, t *table, binary string, flags ...string) (*traced, error) {
	p, err := startProcess(ctx, binary, flags...)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	l, err := newLoad(ctx, t.miniapi, config, p.command.Process.Pid)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &traced{process: p, load: l}, nil
}

// byTurns sends creates to the servers off and on by turns. It sets the row r to a ratio: the processor time that on
// has used, divided by the processor time that off has used.
func byTurns(ctx context.Context, t *table, r *row, off, on *traced, creates int) error {
	off.spent, on.spent = 0, 0
	for turn := range traceTurns + 1 {
		for _, server := range []*traced{off, on} {
			measured, err := serial(creates, (*load).create)(server.load, ctx)
			if err != nil {
				return err
			}
			if turn > 0 { // the first turn isn't measured: it opens connections and runs code for the first time
				server.spent += measured.processor
			}
		}
	}
	t.miniapi.set(r, float64(on.spent)/float64(off.spent))
	return nil
}
