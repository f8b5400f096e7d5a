package program

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// archiveName is the name of the archive of version v1.2.3 for this system.
var archiveName = fmt.Sprintf("miniapi_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)

// pack returns an archive with a file.
func pack(t *testing.T, file, content string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// checksumOf returns a line of checksums.txt.
func checksumOf(archive []byte) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(archive), archiveName)
}

// serve serves /v1.2.3/ARCHIVE by a function, and returns the server's URL.
func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/v1.2.3/"+archiveName, answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func sends(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }
}

// sendsHalf announces an archive, sends its first half, and closes the connection when the function until returns.
func sendsHalf(archive []byte, until func(*http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
		_, _ = w.Write(archive[:len(archive)/2])
		_ = http.NewResponseController(w).Flush()
		until(r)
	}
}

// The released program is downloaded from $MINIAPI_RELEASES. If the variable is set, an error ends the test, and so does an
// archive with a wrong sum. Neither leaves a file that could run.
func TestRelease(t *testing.T) {
	calls := fakeGo(t, `echo program > "$5"`)
	good, empty := pack(t, executable, "released"), pack(t, "README.md", "")
	folder := t.TempDir()
	write(t, folder, "v1.2.3/"+archiveName, string(good))
	at := "/v1.2.3/" + archiveName
	mirror := serve(t, sends(good))
	for _, test := range []struct {
		name, reason, place string
		archive             []byte // the archive whose sum the fixture knows
		err                 []string
	}{
		{"mirror", "the sum is right", mirror, good, nil},
		{"slash", "a URL may end with a slash", mirror + "/", good, nil},
		{"folder", "the place may be a folder", folder, good, nil},
		{"folder of one release", "the folder may be the one that \"make release\" writes", filepath.Join(folder, "v1.2.3"), good, nil},
		{"wrong sum", "another archive must not run", mirror, empty, []string{mirror + at + " has the SHA-256 sum " + checksumOf(good)[:64],
			"miniapi v1.2.3 has " + checksumOf(empty)[:64], "set $MINIAPI_RELEASES to another place"}},
		{"truncated", "half an archive must not run", serve(t, sendsHalf(good, func(*http.Request) {})), good,
			[]string{fmt.Sprintf("after %d of %d bytes: unexpected EOF", len(good)/2, len(good))}},
		{"missing", "the mirror may not have the version", serve(t, http.NotFound), good, []string{at + ": the server answers 404 Not Found", "set $MINIAPI to a miniapi of version v1.2.3"}},
		{"login", "a page of a proxy is no archive", serve(t, sends([]byte("<html>"))), good, []string{"has the SHA-256 sum"}},
		{"no program", "an archive must have the program", serve(t, sends(empty)), empty, []string{"the archive has no file " + executable}},
		{"no archive", "only a tar.gz can be unpacked", serve(t, sends([]byte("program"))), []byte("program"), []string{"unpacking " + archiveName}},
		{"missing in folder", "the folder may not have the version", t.TempDir(), good, []string{"v1.2.3", "no such file or directory"}},
		{"relative", "each test has a working folder of its own", "releases", good, []string{`$MINIAPI_RELEASES is "releases": the value must be`}},
		{"password", "messages go to logs", strings.Replace(mirror, "http://", "http://user:secret@", 1), empty, []string{"http://user:xxxxx@127.0.0.1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(Releases, test.place)
			cache := t.TempDir()
			found, err := ofVersion(context.Background(), cache, "v1.2.3", checksumOf(test.archive))
			if test.err == nil {
				content, readErr := os.ReadFile(found)
				if err != nil || string(content) != "released" {
					t.Errorf("want the released program because %s, got %q, %v, %v", test.reason, content, err, readErr)
				}
				checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock "+executable)
				return
			}
			for _, want := range test.err {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q because %s, got %v", want, test.reason, err)
				}
			}
			checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock")
		})
	}
	if got := calls(); got[0] != "" {
		t.Errorf("want no build, got %q", got)
	}
}

// Without a release, the program is built.
func TestNoRelease(t *testing.T) {
	for _, test := range []struct {
		name, reason, place, checksums string
		attempts                       int32
	}{
		{"off", "the user doesn't want a download", off, checksumOf(nil), 0},
		{"unreleased", "the fixture's version has no release", "", "", 0},
		{"other system", "the release has no archive for this system", "", strings.Replace(checksumOf(nil), runtime.GOARCH, "other", 1), 0},
		{"unreachable", "the machine may reach a module proxy alone", "", checksumOf(nil), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls := fakeGo(t, `echo program > "$5"`)
			t.Setenv(Releases, test.place)
			var attempts atomic.Int32
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				attempts.Add(1)
				http.Error(w, r.Host+" is out of reach", http.StatusForbidden)
			}))
			t.Cleanup(proxy.Close)
			t.Setenv("HTTPS_PROXY", proxy.URL)
			process := oneOfMany(t, t.TempDir(), test.checksums)
			if err := process.Wait(); err != nil {
				t.Fatalf("%v: %s", err, process.Stderr)
			}
			if got := calls(); len(got) != 2 {
				t.Errorf("want a build because %s, got %q", test.reason, got)
			}
			if got := attempts.Load(); got != test.attempts {
				t.Errorf("want %d downloads because %s, got %d", test.attempts, test.reason, got)
			}
		})
	}
}

// Many processes at the same time download the program once, through the proxy of the environment.
func TestReleaseStampede(t *testing.T) {
	calls := fakeGo(t, `exit 1`)
	archive := pack(t, executable, "released")
	var downloads atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		downloads.Add(1)
		if want := "http://releases.example/miniapi/v1.2.3/" + archiveName; r.URL.String() != want {
			t.Errorf("want a request for %s, got one for %s", want, r.URL)
		}
		_, _ = w.Write(archive)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv(Releases, "http://releases.example/miniapi")
	cache := t.TempDir()
	stampede(t, cache, checksumOf(archive))
	if got := downloads.Load(); got != 1 {
		t.Errorf("want one download, got %d", got)
	}
	if got := calls(); got[0] != "" {
		t.Errorf("want no build, got %q", got)
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock "+executable)
}

// A process that is killed during a download leaves no program, and the next process downloads it.
func TestKilledDownload(t *testing.T) {
	fakeGo(t, `exit 1`)
	archive, cache := pack(t, executable, "released"), t.TempDir()
	halfway := make(chan struct{})
	t.Setenv(Releases, serve(t, sendsHalf(archive, func(r *http.Request) {
		close(halfway)
		<-r.Context().Done()
	})))
	process := oneOfMany(t, cache, checksumOf(archive))
	<-halfway
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	if isFile(filepath.Join(cache, "v1.2.3", executable)) {
		t.Error("want no program of half an archive")
	}
	t.Setenv(Releases, serve(t, sends(archive)))
	if _, err := ofVersion(context.Background(), cache, "v1.2.3", checksumOf(archive)); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), "lock "+executable)
}

// The end of the context ends a download, and a server that sends nothing more does, too.
func TestEndedDownload(t *testing.T) {
	archive := pack(t, executable, "released")
	for _, test := range []struct {
		name, reason, want string
		patience           time.Duration
		cancels            bool
	}{
		{"canceled", "the test has ended", "context canceled", time.Hour, true},
		{"stalled", "no test may wait for ever", "no data for 10ms", 10 * time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			t.Setenv(Releases, serve(t, sendsHalf(archive, func(r *http.Request) {
				if test.cancels {
					cancel()
				}
				<-r.Context().Done()
			})))
			r := releaseOf("v1.2.3", checksumOf(archive))
			r.patience = test.patience
			folder := t.TempDir()
			err := r.installation(filepath.Join(folder, executable)).run(ctx, folder)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
			checkFiles(t, folder, "")
		})
	}
}

// A cache folder that can't be written is enough if it has the program. Otherwise the error says what to do.
func TestReadOnlyCache(t *testing.T) {
	cache := t.TempDir()
	write(t, cache, "v1.2.3/"+executable, "cached")
	if found, err := ofVersion(context.Background(), cache, "v1.2.3", ""); err != nil || !isFile(found) {
		t.Errorf("want the cached program, got %q, %v", found, err)
	}
	checkFiles(t, filepath.Join(cache, "v1.2.3"), executable)
	_, err := ofVersion(context.Background(), filepath.Join(cache, "v1.2.3", executable), "v1.2.3", "")
	for _, want := range []string{"not a directory", "let the user's cache folder be one that can be written, or set $MINIAPI"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
