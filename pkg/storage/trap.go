package storage

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// trap catches fatal errors of etcd. etcd logs an error that it can't survive as fatal or panic, which ends the
// process. With a trap, the entry ends the goroutine that logged it, and is an error of the member.
type trap struct {
	once   sync.Once
	err    error
	sprung chan struct{} // closed once err is set
}

func newTrap() *trap { return &trap{sprung: make(chan struct{})} }

var _ zapcore.CheckWriteHook = (*trap)(nil)

// OnWrite is called by the logger after a fatal or panic entry, and must not return.
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

func (t *trap) spring(err error) {
	t.once.Do(func() {
		t.err = err
		close(t.sprung)
	})
}

// failure returns the error that sprang the trap, or nil.
func (t *trap) failure() error {
	select {
	case <-t.sprung:
		return t.err
	default:
		return nil
	}
}

// failureOf returns the failure that the etcd in a folder reported, or nil.
func (t *trap) failureOf(folder string) error {
	if err := t.failure(); err != nil {
		return fmt.Errorf("etcd in %q has failed: %w", folder, err)
	}
	return nil
}

// guard calls f on a goroutine of its own, and turns a panic, a fatal log entry, or a fault in the memory of a damaged
// database into an error. If another goroutine ends that way, guard doesn't wait long for f, which may wait for that
// goroutine.
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
	case <-t.sprung:
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(failedStopTimeout):
		return t.failure()
	}
}

// newLogger returns etcd's logger. Errors go to w, if there is one, and fatal errors to the trap. Warnings are dropped:
// they are about peers, slow disks and refused campaigns of the start.
func newLogger(w io.Writer, t *trap) *zap.Logger {
	core := zapcore.NewNopCore()
	if w != nil {
		encoder := zap.NewProductionEncoderConfig()
		encoder.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		core = calm{zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(zapcore.AddSync(w)), zap.ErrorLevel)}
	}
	return zap.New(core, zap.WithFatalHook(t), zap.WithPanicHook(t)).Named("etcd")
}

// calm drops the error that every fresh member logs: etcd writes the version of its storage before raft has a term,
// which fails, and repeats it later.
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
