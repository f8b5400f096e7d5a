package storage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// writeFile writes a file and makes its folders.
func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startFails starts a member in a folder, and expects an error. The error must have a single line and name the
// folder.
func startFails(t testing.TB, dir, want, reason string) {
	t.Helper()
	m, err := Start(t.Context(), Options{DataDir: dir})
	if err == nil {
		stopMember(t, m)
		t.Fatalf("started; %s", reason)
	}
	if text := err.Error(); !strings.Contains(text, want) || !strings.Contains(text, dir) || strings.Contains(text, "\n") {
		t.Errorf("error %q, want one line with %q and the folder: %s", text, want, reason)
	}
}

func TestFoldersThatAreNotForData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason, want string
		prepare            func(t *testing.T, dir string)
	}{
		{"foreign", "files of other programs stay untouched", `holds "notes.txt"`, func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "notes.txt"), "")
		}},
		{"file", "the path names a file by mistake", "must be a folder", func(t *testing.T, dir string) {
			writeFile(t, dir, "")
		}},
		{"below a file", "a file can't have folders", "not a directory", func(t *testing.T, dir string) {
			writeFile(t, filepath.Dir(dir), "")
		}},
		{"newer", "an older miniapi doesn't support the newer layout", "made by a newer miniapi", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, lockName), fmt.Sprintf(`{"layout":%d}`, layout+1))
		}},
		{"lock is a folder", "the lock file must be a file", lockName, func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, lockName, "x"), "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "parent", "data")
			c.prepare(t, dir)
			startFails(t, dir, c.want, c.reason)
		})
	}
}

func TestFoldersThatAreForData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reason string
		prepare      func(t *testing.T, dir string)
	}{
		{"mount point", "a fresh disk isn't quite empty", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, mountPoint, "x"), "")
		}},
		{"killed while it was locked", "the text of the lock file may be incomplete", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, lockName), `{"layout":1,"p`)
		}},
		{"killed while the log was made", "etcd makes the log in a folder that it renames", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, lockName), "")
			writeFile(t, filepath.Join(dir, "member", "wal.tmp", "x"), "")
			writeFile(t, filepath.Join(dir, "member", "snap", "db"), "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.prepare(t, dir)
			put(t, startMember(t, Options{DataDir: dir}), "/a", "1")
		})
	}
}

func TestDataFolderIsHeldByOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := startMember(t, Options{DataDir: dir, Holder: "127.0.0.1:6443"})
	startFails(t, dir, fmt.Sprintf("in use by process %d (127.0.0.1:6443)", os.Getpid()), "two servers can't share it")
	put(t, m, "/a", "1") // the failed start has changed nothing in the folder
	stopMember(t, m)
	stopMember(t, startMember(t, Options{DataDir: dir}))
}

func TestTemporaryFolders(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	lock := func(h holder) string {
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	folders := []struct {
		name, reason string
		files        map[string]string
		there        bool
	}{
		{"miniapi-1", "the process of the member died without Stop",
			map[string]string{lockName: lock(holder{Layout: layout, Temporary: true})}, false},
		{"miniapi-2", "a user's folder may have such a name", map[string]string{lockName: lock(holder{Layout: layout, PID: 1})}, true},
		{"miniapi-3", "the process died before it wrote the holder", map[string]string{lockName: ""}, false},
		{"miniapi-4", "the process died before it made the lock file", nil, false},
		{"miniapi-5", "the folder isn't a member's folder", map[string]string{"notes.txt": ""}, true},
		{"miniapi-6", "a data folder's lock file may be incomplete", map[string]string{lockName: `{"lay`, "member": ""}, true},
		{"miniapi-notes", "no member makes a folder of this name", nil, true},
	}
	for _, f := range folders {
		if err := os.Mkdir(filepath.Join(base, f.name), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range f.files {
			writeFile(t, filepath.Join(base, f.name, name), text)
		}
	}
	first := startMember(t, Options{TempDir: base})
	second := startMember(t, Options{TempDir: base})
	put(t, first, "/a", "1")
	put(t, second, "/a", "1")
	for _, f := range folders {
		if _, err := os.Stat(filepath.Join(base, f.name)); (err == nil) != f.there {
			t.Errorf("%s: stat says %v, want it there %t: %s", f.name, err, f.there, f.reason)
		}
	}
	if _, err := os.Stat(first.folder.path); err != nil {
		t.Errorf("the second member has removed the folder of the first: %v", err)
	}
	if _, err := Start(t.Context(), Options{TempDir: filepath.Join(base, "nowhere")}); err == nil {
		t.Error("started in a folder that doesn't exist")
	}
}

// Processes that start at the same time don't remove one another's folders.
func TestTemporaryFoldersAtOnce(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				f, err := openTemporaryFolder(base)
				if err != nil {
					t.Error(err)
					return
				}
				if h, err := readHolder(filepath.Join(f.path, lockName)); err != nil || !h.Temporary {
					t.Errorf("the folder of a running process has the holder %+v, %v", h, err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("want no folder to be left, got %v, %v", left, err)
	}
}

// childFolder is an environment variable. It makes the test binary run as the process that TestKill kills, and
// names the folder.
const childFolder = "MINIAPI_STORAGE_TEST_FOLDER"

// A member keeps every answered write when its process is killed. The test starts a process that writes, and kills it,
// four times.
func TestKill(t *testing.T) {
	if dir := os.Getenv(childFolder); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	written := map[string]bool{}
	for round := range 4 {
		for _, key := range killWriter(t, dir, 100*round) {
			written[key] = true
		}
		m := startMember(t, Options{DataDir: dir})
		found, err := m.client.KV.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			t.Fatal(err)
		}
		missing := len(written)
		for _, kv := range found.Kvs {
			if written[string(kv.Key)] {
				missing--
			}
		}
		if missing > 0 {
			t.Errorf("round %d: %d of %d answered writes are lost", round, missing, len(written))
		}
		stopMember(t, m)
	}
}

// killWriter starts a process that writes, and kills the process when the number of writes with an answer exceeds the
// argument "answered". It returns the keys of the answered writes.
func killWriter(t *testing.T, dir string, answered int) (written []string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKill$")
	child.Env = append(os.Environ(), childFolder+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	for n := 0; answers.Scan(); n++ {
		if !strings.HasPrefix(answers.Text(), "/") {
			t.Fatal("the child says ", answers.Text())
		}
		written = append(written, answers.Text())
		if n == answered {
			_ = child.Process.Kill() // the lines that the process has printed are still read
		}
	}
	_ = child.Wait() // the process always ends with an error: it was killed
	return written
}

// writeUntilKilled writes keys, and prints each key after etcd has answered.
func writeUntilKilled(t *testing.T, dir string) {
	m, err := Start(context.Background(), Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for writer := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("/%d/%d/%d", os.Getpid(), writer, i)
				if _, err := m.client.KV.Put(context.Background(), key, time.Now().String()); err != nil {
					return
				}
				if _, err := fmt.Println(key); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}
