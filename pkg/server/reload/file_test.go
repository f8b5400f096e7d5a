package reload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is the time that a test waits for a change. A File reads its file once a minute even if no change is reported
// (see the constant unnoticed). The limit is shorter, so a test fails if the change isn't reported.
const limit = 30 * time.Second

// followed is a File that records the calls of its functions, for tests.
type followed struct {
	*File
	stop    func()
	applied chan string // the contents that Apply has been called with
	counted chan string // the calls of Succeeded and Failed
}

// follow follows a file, beginning with its present content.
func follow(t *testing.T, path string, apply func(ctx context.Context, data string) error) *followed {
	t.Helper()
	seen, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &followed{applied: make(chan string, 100), counted: make(chan string, 100)}
	f.File = &File{
		Flag: "config", Path: path, Seen: seen,
		Apply: func(ctx context.Context, data []byte) error {
			f.applied <- string(data)
			return apply(ctx, string(data))
		},
		Succeeded: func(data string) { f.counted <- data },
		Failed:    func() { f.counted <- "failure" },
	}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { f.Follow(ctx) })
	f.stop = func() {
		cancel()
		following.Wait()
	}
	t.Cleanup(f.stop)
	return f
}

// await receives values until it receives the wanted value. After the time limit, it fails the test.
func await(t *testing.T, from <-chan string, want string) {
	t.Helper()
	var got []string
	timeout := time.After(limit)
	for {
		select {
		case data := <-from:
			if data == want {
				return
			}
			got = append(got, data)
		case <-timeout:
			t.Fatalf("want %q within %s, got %q", want, limit, got)
		}
	}
}

func refuseWrong(_ context.Context, data string) error {
	if data == "wrong" {
		return errors.New("it is wrong")
	}
	return nil
}

// do fails a test if one of the errors isn't nil.
func do(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func put(path, content string) error { return os.WriteFile(path, []byte(content), 0o600) }

func replace(path, content string) error {
	return errors.Join(put(path+".new", content), os.Rename(path+".new", path))
}

func TestFollow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		// path creates a file with the content "first", and returns its path.
		path   func(t *testing.T, dir string) string
		change func(t *testing.T, dir, path string)
	}{
		{"written", "the redirection > of a shell writes a file in place", plain,
			func(t *testing.T, _, path string) { do(t, put(path, "second")) }},
		{"replaced", "most editors replace a file", plain, func(t *testing.T, _, path string) {
			do(t, replace(path, "second"))
		}},
		{"removed and made anew", "some tools remove a file before they write it", plain, func(t *testing.T, _, path string) {
			do(t, os.Remove(path), put(path, "second"))
		}},
		{"moved away and made anew", "editors move the old file away as a backup", plain, func(t *testing.T, _, path string) {
			do(t, os.Rename(path, path+"~"), put(path, "second"))
		}},
		{"mounted", "Kubernetes changes the link ..data of a volume, and leaves the file", mounted, func(t *testing.T, dir, path string) {
			do(t, os.Mkdir(filepath.Join(dir, "..2"), 0o700), put(filepath.Join(dir, "..2", "config"), "second"),
				os.Symlink("..2", filepath.Join(dir, "..new")), os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")))
		}},
		{"link to another file", "the link changes, and its targets stay", linked, func(t *testing.T, dir, path string) {
			other := filepath.Join(t.TempDir(), "other")
			do(t, put(other, "second"), os.Symlink(other, path+".new"), os.Rename(path+".new", path))
		}},
		{"behind a link", "the target of the link changes", linked, func(t *testing.T, dir, path string) {
			do(t, put(filepath.Join(dir, "elsewhere", "config"), "second"))
		}},
		{"folder of a link", "the folder of the file is a symbolic link", inLinkedFolder, func(t *testing.T, dir, path string) {
			do(t, os.Mkdir(filepath.Join(dir, "b"), 0o700), put(filepath.Join(dir, "b", "config"), "second"),
				os.Symlink("b", filepath.Join(dir, "new")), os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "current")))
		}},
		{"folder made anew", "the File looks for the folder until the folder exists", inFolder, func(t *testing.T, dir, path string) {
			do(t, os.RemoveAll(filepath.Dir(path)), os.Mkdir(filepath.Dir(path), 0o700), put(path, "second"))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := test.path(t, dir)
			f := follow(t, path, refuseWrong)
			test.change(t, dir, path)
			await(t, f.counted, "second")
			// The File still follows the file after the change.
			do(t, put(path, "third"))
			await(t, f.counted, "third")
			f.stop()
			if slices.Contains(drain(f.applied), "first") {
				t.Errorf("the content that was in force has been applied again: %s", test.reason)
			}
		})
	}
}

func drain(from chan string) (all []string) {
	close(from)
	for data := range from {
		all = append(all, data)
	}
	return all
}

func plain(t *testing.T, dir string) string {
	path := filepath.Join(dir, "config")
	do(t, put(path, "first"))
	return path
}

func mounted(t *testing.T, dir string) string {
	path := filepath.Join(dir, "config")
	do(t, os.Mkdir(filepath.Join(dir, "..1"), 0o700), put(filepath.Join(dir, "..1", "config"), "first"),
		os.Symlink("..1", filepath.Join(dir, "..data")), os.Symlink("..data/config", path))
	return path
}

func linked(t *testing.T, dir string) string {
	path, target := filepath.Join(dir, "config"), filepath.Join(dir, "elsewhere", "config")
	do(t, os.Mkdir(filepath.Dir(target), 0o700), put(target, "first"), os.Symlink(target, path))
	return path
}

func inFolder(t *testing.T, dir string) string {
	path := filepath.Join(dir, "folder", "config")
	do(t, os.Mkdir(filepath.Dir(path), 0o700), put(path, "first"))
	return path
}

func inLinkedFolder(t *testing.T, dir string) string {
	do(t, os.Mkdir(filepath.Join(dir, "a"), 0o700), put(filepath.Join(dir, "a", "config"), "first"), os.Symlink("a", filepath.Join(dir, "current")))
	return filepath.Join(dir, "current", "config")
}

// Wrong content, or a missing file, counts as one failure. Right content after that is applied.
func TestFollowFailures(t *testing.T) {
	t.Parallel()
	path := plain(t, t.TempDir())
	f := follow(t, path, refuseWrong)
	steps := []struct {
		change func() error // the change is one step, so the file is never half changed
		want   string
	}{
		{func() error { return replace(path, "wrong") }, "failure"},
		{func() error { return replace(path, "second") }, "second"},
		{func() error { return os.Remove(path) }, "failure"},
		{func() error { return replace(path, "third") }, "third"},
	}
	var got, want []string
	for _, step := range steps {
		do(t, step.change())
		want = append(want, step.want)
		select {
		case counted := <-f.counted:
			got = append(got, counted)
		case <-time.After(limit):
			t.Fatalf("want %q within %s", step.want, limit)
		}
	}
	f.stop()
	if diff := cmp.Diff(want, append(got, drain(f.counted)...)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// If Apply waits, for example for an issuer that doesn't answer, newer content of the file ends the call of Apply.
func TestFollowGivesWay(t *testing.T) {
	t.Parallel()
	path := plain(t, t.TempDir())
	f := follow(t, path, func(ctx context.Context, data string) error {
		if data == "slow" {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	do(t, replace(path, "slow"))
	await(t, f.applied, "slow")
	do(t, replace(path, "quick"))
	await(t, f.counted, "quick")
	do(t, replace(path, "slow"))
	await(t, f.applied, "slow")
	f.stop()
	if got := drain(f.counted); len(got) != 0 {
		t.Errorf("want nothing counted of what has given way, or was under way at the end, got %q", got)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	do(t, err)
	do(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700), os.Symlink("a/b", filepath.Join(dir, "relative")),
		os.Symlink(filepath.Join(dir, "relative"), filepath.Join(dir, "a", "absolute")), os.Symlink("loop", filepath.Join(dir, "loop")))
	for _, test := range []struct {
		name, reason, path string
		want               []string
	}{
		{"no link", "a change of the path is in the folder of the file", "a/b/config", []string{"a/b"}},
		{"relative link", "a change of the path is in the folder of the link or of its target", "relative/config", []string{"", "a/b"}},
		{"link to a link", "a change of the path may be in the folder of each link", "a/absolute/config", []string{"a", "", "a/b"}},
		{"missing folder", "the file may be created in the folder", "c/config", []string{"c"}},
		{"link to itself", "the number of links is limited", "loop", slices.Repeat([]string{""}, longest)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for _, folder := range test.want {
				want = append(want, filepath.Join(dir, folder))
			}
			if diff := cmp.Diff(want, folders(filepath.Join(dir, test.path))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
