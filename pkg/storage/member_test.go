package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// startMember starts a member and stops it after the test.
func startMember(t testing.TB, o Options) *Member {
	t.Helper()
	if o.DataDir == "" && o.TempDir == "" {
		o.TempDir = t.TempDir()
	}
	m, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopMember(t, m) })
	return m
}

func stopMember(t testing.TB, m *Member) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := m.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func put(t testing.TB, m *Member, key, value string) {
	t.Helper()
	if _, err := m.client.KV.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, m *Member, key string) string {
	t.Helper()
	r, err := m.client.KV.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kvs) == 0 {
		return ""
	}
	return string(r.Kvs[0].Value)
}

// isolated fails the test if f leaves goroutines of this package, or of the libraries that it uses.
func isolated(t *testing.T, f func()) {
	t.Helper()
	before := stacks()
	f()
	deadline := time.Now().Add(time.Minute)
	for left := newStacks(before); ; left = newStacks(before) {
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines left:\n\n%s", len(left), strings.Join(left, "\n\n"))
		}
		runtime.Gosched()
	}
}

func stacks() map[string]string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	all := map[string]string{}
	for s := range strings.SplitSeq(string(buf), "\n\n") {
		id, _, _ := strings.Cut(s, " [")
		all[id] = s
	}
	return all
}

func newStacks(before map[string]string) (left []string) {
	for id, s := range stacks() {
		if _, ok := before[id]; !ok {
			left = append(left, s)
		}
	}
	return left
}

// After a stop, a temporary member has left no goroutine and no file. The test isn't parallel, because it compares
// all goroutines of the process.
func TestStopLeavesNothing(t *testing.T) {
	base := t.TempDir()
	isolated(t, func() {
		m, err := Start(t.Context(), Options{TempDir: base})
		if err != nil {
			t.Fatal(err)
		}
		s := newConfigMaps(t, m, cached)
		s.create(t, "a")
		put(t, m, "/other", "1")
		s.list(t, "", "")
		watch := m.client.Watch(context.Background(), "/", clientv3.WithPrefix(), clientv3.WithPrevKV())
		put(t, m, "/a", "1")
		<-watch
		if _, err := m.client.Grant(t.Context(), 60); err != nil {
			t.Fatal(err)
		}
		stopMember(t, m)
		for range watch {
		}
		stopMember(t, m) // a second call waits for the first
		if err := m.Healthy(t.Context()); err == nil {
			t.Error("a stopped member is healthy")
		}
		if _, err := m.client.KV.Get(t.Context(), "/a"); err == nil {
			t.Error("a stopped member answers")
		}
	})
	if entries, err := os.ReadDir(base); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestMembersInParallel(t *testing.T) {
	t.Parallel()
	const members = 8
	base := t.TempDir()
	var wg sync.WaitGroup
	for i := range members {
		wg.Go(func() {
			m, err := Start(t.Context(), Options{TempDir: base})
			if err != nil {
				t.Error(err)
				return
			}
			defer stopMember(t, m)
			s := newConfigMaps(t, m, cached)
			for _, name := range []string{"a", "b", "c"}[:i%3+1] {
				s.create(t, name)
			}
			if n := len(s.list(t, "", "").Items); n != i%3+1 {
				t.Errorf("member %d sees %d objects", i, n)
			}
			if err := m.Healthy(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestStartIsBoundByItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	base := t.TempDir()
	if m, err := Start(ctx, Options{TempDir: base}); err == nil {
		stopMember(t, m)
		t.Error("started although the context was over")
	}
	if entries, _ := os.ReadDir(base); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestDataIsFoundAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by", "start")
	for i, want := range []string{"", "1", "2"} {
		m := startMember(t, Options{DataDir: dir})
		if got := get(t, m, "/a"); got != want {
			t.Errorf("start %d found %q, want %q", i, got, want)
		}
		put(t, m, "/a", string(rune('1'+i)))
		stopMember(t, m)

		// If the folder has no snapshot, raft sometimes panics when the member campaigns right after a start (see
		// firstStart).
		snapshot, err := checkFiles(serverConfig(m.folder, m.server.Logger()), false)
		if err != nil || snapshot == 0 {
			t.Errorf("the log isn't behind a snapshot (%d, %v)", snapshot, err)
		}
	}
}

// A member that runs normally logs no errors: users read this log to find an error.
func TestNothingIsWrong(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m := startMember(t, Options{LogTo: &log})
	put(t, m, "/a", "1")
	stopMember(t, m)
	if log.Len() > 0 {
		t.Errorf("want no error in the log, got %s", &log)
	}
}

func TestFailureIsOfTheMember(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m, err := Start(t.Context(), Options{LogTo: &log, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.server.Logger().Fatal("disk is on fire")
		t.Error("the goroutine went on")
	}()
	<-ended
	<-m.Failed()
	_, written := m.client.KV.Put(t.Context(), "/a", "1")
	_, read := m.client.KV.Get(t.Context(), "/a")
	healthy := m.Healthy(t.Context())
	stopped := m.Stop(t.Context())
	for _, text := range []string{fmt.Sprint(written), fmt.Sprint(read), fmt.Sprint(healthy), fmt.Sprint(stopped), log.String()} {
		if !strings.Contains(text, "disk is on fire") {
			t.Errorf("%q doesn't say why etcd failed", text)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	used := b.TempDir()
	for _, c := range []struct {
		name    string
		options func() Options
	}{
		{"temporary", func() Options { return Options{} }},
		{"new-data", func() Options { return Options{DataDir: b.TempDir()} }},
		{"used-data", func() Options { return Options{DataDir: used} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var started, stopped time.Duration
			for b.Loop() {
				o := c.options()
				t0 := time.Now()
				m, err := Start(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				put(b, m, "/a", "1")
				t1 := time.Now()
				stopMember(b, m)
				started, stopped = started+t1.Sub(t0), stopped+time.Since(t1)
			}
			b.ReportMetric(started.Seconds()*1e3/float64(b.N), "ms-start")
			b.ReportMetric(stopped.Seconds()*1e3/float64(b.N), "ms-stop")
		})
	}
}

func BenchmarkConsistentList(b *testing.B) {
	m := startMember(b, Options{})
	s := newConfigMaps(b, m, cached)
	s.openCache(b)
	for b.Loop() {
		put(b, m, "/other", "1")
		s.list(b, "", "")
	}
}

func BenchmarkPut(b *testing.B) {
	m := startMember(b, Options{})
	for b.Loop() {
		put(b, m, "/a", "1")
	}
}

// The write-ahead log of a temporary member stays short. etcd first unlocks segments that it doesn't need, and
// removes them at its next check.
func TestTemporaryLogIsCut(t *testing.T) {
	t.Parallel()
	m := startMember(t, Options{})
	needed := func() int {
		for i := range temporarySnapshotCount + temporarySnapshotCount/2 {
			put(t, m, fmt.Sprint("/a/", i%10), strings.Repeat("x", 8<<10))
		}
		segments, err := filepath.Glob(filepath.Join(m.folder.path, "member", "wal", "*.wal"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, segment := range segments {
			lock, err := fileutil.TryLockFile(segment, os.O_WRONLY, fileutil.PrivateFileMode)
			switch {
			case err == nil:
				_ = lock.Close()
			case errors.Is(err, fileutil.ErrLocked):
				n++
			case !errors.Is(err, os.ErrNotExist):
				t.Fatal(err)
			}
		}
		return n
	}
	const most = temporarySnapshotCount*(8<<10)/segmentBytes + 2
	for round := range 3 {
		if n := needed(); n == 0 || n > most {
			t.Errorf("round %d: %d segments of the log are needed, want at most %d", round, n, most)
		}
	}
}
