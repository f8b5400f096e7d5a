package storage

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// trap catches fatal errors of etcd. When etcd can't recover from an error, it logs the error at the level fatal or
// panic, and the logger ends the process. With a trap, such an entry ends only the goroutine that logged it, and
// the member reports the error.
type trap struct {
	// running ends with the first fatal error as its cause.
	running context.Context
	spring  context.CancelCauseFunc
}

func newTrap() *trap {
	t := &trap{}
	t.running, t.spring = context.WithCancelCause(context.Background())
	return t
}

var _ zapcore.CheckWriteHook = (*trap)(nil)

// OnWrite implements zapcore.CheckWriteHook. The logger calls it after an entry at the level fatal or panic.
// OnWrite must not return to the goroutine that logged the entry, so it ends that goroutine.
func (t *trap) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := fmt.Errorf("%s", entry.Message)
	for _, f := range fields {
		if cause, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
		}
	}
	t.spring(err)
	runtime.Goexit()
}

// failure returns the first fatal error, or nil if there was none.
func (t *trap) failure() error { return context.Cause(t.running) }

// failureOf returns the first fatal error of etcd, with the name of the member's folder, or nil if there was none.
func (t *trap) failureOf(folder string) error {
	if err := t.failure(); err != nil {
		return fmt.Errorf("etcd in %q has failed: %w", folder, err)
	}
	return nil
}

// guard calls f on a new goroutine. It returns an error for a panic, for a fatal log entry, and for a memory fault,
// which a damaged database can cause. If another goroutine ends by such an error, guard waits only a short time for
// f, because f may be waiting for that goroutine.
func (t *trap) guard(f func() error) error {
	ended := make(chan error, 1)
	go func() {
		returned := false
		defer func() {
			if returned {
				return
			}
			if r := recover(); r != nil {
				t.spring(fmt.Errorf("%v", r))
			}
			ended <- t.failure()
		}()
		debug.SetPanicOnFault(true)
		err := f()
		returned = true
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-t.running.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(failedStopTimeout):
		return t.failure()
	}
}

// newLogger returns the logger of etcd. Errors go to w, unless w is nil. Fatal errors go to the trap. Warnings are
// dropped: they are about peers, slow disks, and refused campaigns during the start.
func newLogger(w io.Writer, t *trap) *zap.Logger {
	core := zapcore.NewNopCore()
	if w != nil {
		encoder := zap.NewProductionEncoderConfig()
		encoder.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		core = calm{zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(zapcore.AddSync(w)), zap.ErrorLevel)}
	}
	return zap.New(core, zap.WithFatalHook(t), zap.WithPanicHook(t)).Named("etcd")
}

// calm drops an error that every new member logs. etcd tries to write the version of its storage before raft has a
// term. The attempt fails, and etcd repeats it later.
type calm struct{ zapcore.Core }

// Check implements zapcore.Core.
func (c calm) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Message == "failed to update storage version" {
		return checked
	}
	return c.Core.Check(entry, checked)
}

// With implements zapcore.Core.
func (c calm) With(fields []zapcore.Field) zapcore.Core { return calm{c.Core.With(fields)} }
