package program

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed" // for checksums
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// Releases is the environment variable with the place of the releases: the URL of a mirror, the path of a folder, or
	// "off". Below the place, an archive has the path VERSION/ARCHIVE, as it has at GitHub. A folder may also be that of one
	// release, with the archive itself.
	Releases = "MINIAPI_RELEASES"
	// published is the place of the releases by default.
	published = "https://" + module + "/releases/download"
	// off is the value of $MINIAPI_RELEASES with which the fixture downloads nothing.
	off = "off"
	// largest is the size above which an archive isn't the program's.
	largest = 256 << 20
	// patience is the time without any data after which a download fails.
	patience = 30 * time.Second
)

// checksums has a line for each archive of the fixture's version: the SHA-256 sum and the archive's name, as sha256sum
// writes them. The file is empty before the first release. hack/release.sh writes it.
//
//go:embed checksums.txt
var checksums string

// errWrong is the error for an archive that isn't the one of the release.
var errWrong = errors.New("the archive isn't the released one")

// release is the archive with a version of the program for this system.
type release struct {
	version, archive string
	// sum is the SHA-256 sum of the archive.
	sum string
	// place is the URL or the folder of all releases. Chosen reports whether the user has set it.
	place  string
	chosen bool
	// patience is the time without any data after which a download fails.
	patience time.Duration
}

// releaseOf returns the release of a version, or nil if checksums doesn't list its archive, or if the user has turned
// releases off.
func releaseOf(version, checksums string) *release {
	r := &release{
		version: version, place: os.Getenv(Releases), patience: patience,
		archive: fmt.Sprintf("%s_%s_%s_%s.tar.gz", name, strings.TrimPrefix(version, "v"), runtime.GOOS, runtime.GOARCH),
	}
	for _, line := range strings.Split(checksums, "\n") {
		if sum, archive, _ := strings.Cut(line, "  "); archive == r.archive {
			r.sum = sum
		}
	}
	if r.sum == "" || r.place == off {
		return nil
	}
	if r.chosen = r.place != ""; !r.chosen {
		r.place = published
	}
	return r
}

// isRequired reports whether the fixture gives up after an error of the download. Otherwise it builds the program: the
// default place may be out of reach of a machine that has a module proxy.
func (r *release) isRequired(err error) bool { return r.chosen || errors.Is(err, errWrong) }

// address returns the archive's URL or path.
func (r *release) address() (address string, isURL bool, err error) {
	at, err := url.Parse(r.place)
	switch {
	case err == nil && (at.Scheme == "http" || at.Scheme == "https"):
		return at.JoinPath(r.version, r.archive).String(), true, nil
	case filepath.IsAbs(r.place):
		if alone := filepath.Join(r.place, r.archive); isFile(alone) {
			return alone, false, nil
		}
		return filepath.Join(r.place, r.version, r.archive), false, nil
	}
	return "", false, fmt.Errorf("$%s is %q: the value must be an http or https URL, the absolute path of a folder, or %q", Releases, r.place, off)
}

// installation returns the installation that downloads the program to a path.
func (r *release) installation(path string) installation {
	return installation{
		doing: "downloading", done: "downloaded", what: r.what(), path: path, put: r.put,
		advice: fmt.Sprintf("set $%s to another place of miniapi's releases, or to %q for a build, or set $%s to a miniapi of version %s", Releases, off, Variable, r.version),
	}
}

// what returns the name of the program in messages, with the place of its release.
func (r *release) what() string {
	return fmt.Sprintf("%s %s from %s", name, r.version, redacted(r.place))
}

// put downloads the archive into a folder, compares its sum, and only then unpacks the program.
func (r *release) put(ctx context.Context, to string) error {
	packed, err := os.Create(filepath.Join(to, r.archive))
	if err != nil {
		return err
	}
	defer packed.Close()
	if err := r.download(ctx, packed); err != nil {
		return err
	}
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := unpack(packed, filepath.Join(to, executable)); err != nil {
		return fmt.Errorf("unpacking %s: %w", r.archive, err)
	}
	return nil
}

// download writes the archive to a writer. The error wraps errWrong if the sum or the size is wrong.
func (r *release) download(ctx context.Context, to io.Writer) (err error) {
	address, isURL, err := r.address()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(r.patience, func() { cancel(fmt.Errorf("no data for %s", r.patience)) })
	defer alive.Stop()

	open := openFile
	if isURL {
		open = get
	}
	body, size, err := open(ctx, address)
	if err != nil {
		return because(ctx, err)
	}
	defer body.Close()
	sum := sha256.New()
	copied := &transfer{what: r.what(), size: size, told: time.Now(), received: func() { alive.Reset(r.patience) }}
	n, err := io.Copy(io.MultiWriter(to, sum, copied), io.LimitReader(body, largest+1))
	switch actual := hex.EncodeToString(sum.Sum(nil)); {
	case err != nil:
		return fmt.Errorf("%s, after %d of %d bytes: %w", redacted(address), n, size, because(ctx, err))
	case n > largest:
		return fmt.Errorf("%s has more than %d MiB: %w", redacted(address), largest>>20, errWrong)
	case actual != r.sum:
		return fmt.Errorf("%s has the SHA-256 sum %s, but miniapi %s has %s: %w", redacted(address), actual, r.version, r.sum, errWrong)
	}
	return nil
}

// get opens a URL. The size is -1 if the server doesn't tell it.
func get(ctx context.Context, address string) (io.ReadCloser, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the sum is that of the archive as it is
	transport.DisableKeepAlives = true
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, 0, fmt.Errorf("GET %s: the server answers %s", redacted(address), response.Status)
	}
	return response.Body, response.ContentLength, nil
}

func openFile(_ context.Context, path string) (io.ReadCloser, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// because adds the cause for which the context was canceled to an error that the cancellation led to.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// redacted returns an address without its password.
func redacted(address string) string {
	if at, err := url.Parse(address); err == nil && at.User != nil {
		return at.Redacted()
	}
	return address
}

// unpack writes the program in an archive to a new file.
func unpack(packed io.Reader, to string) error {
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the archive has no file %s", executable)
		case err != nil:
			return err
		case path.Base(header.Name) != executable:
			continue
		}
		program, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // it is a program
		if err != nil {
			return err
		}
		_, err = io.CopyN(program, files, header.Size)
		return errors.Join(err, program.Close())
	}
}

// transfer counts the bytes of a download, and prints their number from time to time.
type transfer struct {
	what string
	// size is the number of all bytes, or -1 if it is unknown.
	size, done int64
	told       time.Time
	received   func()
}

// Write implements io.Writer.
func (t *transfer) Write(data []byte) (int, error) {
	t.received()
	t.done += int64(len(data))
	if time.Since(t.told) < tellEvery {
		return len(data), nil
	}
	t.told = time.Now()
	of := ""
	if t.size > 0 {
		of = fmt.Sprintf(" of %d", t.size/1e6)
	}
	_, err := fmt.Fprintf(console{}, "miniapitest: downloading %s: %d%s MB\n", t.what, t.done/1e6, of)
	return len(data), err
}
