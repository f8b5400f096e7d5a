package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag" //nolint:depguard // the flag is the test's: the package reads it and defines none
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
)

// TB has the methods of testing.TB that Handler uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Option is an option of Handler.
type Option func(*options)

type options struct{ update bool }

// Update tells Handler whether to write the responses into the files instead of comparing them. Without this option, the
// flag -update decides, if the test binary has a boolean flag of this name. The package doesn't define the flag, because
// other packages of a test may define it for their golden files:
//
//	var _ = flag.Bool("update", false, "write the responses into the golden files")
func Update(update bool) Option { return func(o *options) { o.update = update } }

// updateFlag is the name of the flag that Handler uses without the option Update.
const updateFlag = "update"

// flagged reports whether the flag -update is set. It is false if the binary has no boolean flag of this name.
func flagged() bool {
	defined := flag.Lookup(updateFlag)
	if defined == nil {
		return false
	}
	value, ok := defined.Value.(flag.Getter)
	if !ok {
		return false
	}
	set, ok := value.Get().(bool)
	return ok && set
}

// Handler sends the requests in the files of a folder to a handler, one after the other. The test fails for each
// response that differs from the response in the file, and prints the difference, unless [Update] is true. Two patches
// are equal if they make the same object.
//
// Each request has the path of the recording. The handler of a single webhook can ignore the path; an http.ServeMux of
// several webhooks selects the handler by it.
func Handler(t TB, dir string, handler http.Handler, opts ...Option) {
	t.Helper()
	o := options{update: flagged()}
	for _, option := range opts {
		option(&o)
	}
	results, err := Run(context.Background(), dir, ToHandler(handler), o.update)
	if err != nil {
		t.Errorf("replaying reviews: %v", err)
	}
	different := 0
	for _, r := range results {
		switch {
		case r.Updated:
			t.Logf("%s is updated", r.File.Path)
		case r.Diff != "":
			t.Errorf("%s (-recorded +got):\n%s", r.File.Path, r.Diff)
			different++
		}
	}
	switch {
	case different == 0:
	case flag.Lookup(updateFlag) != nil:
		t.Logf("go test -%s writes the responses into the files", updateFlag)
	default:
		t.Logf("replay.Update(true), or a flag -%s of the test, writes the responses into the files", updateFlag)
	}
}

// Target sends a request to a webhook, and returns the status and the body of the response. The path may end with a query.
type Target func(ctx context.Context, path string, review []byte) (code int, body []byte, err error)

// ToHandler returns the target of a handler in this process.
func ToHandler(handler http.Handler) Target {
	return func(ctx context.Context, path string, review []byte) (int, []byte, error) {
		if handler == nil {
			return 0, nil, errors.New("ToHandler: the handler of the webhook must not be nil")
		}
		req, err := newRequest(ctx, "https://webhook.invalid/"+strings.TrimPrefix(path, "/"), review)
		if err != nil {
			return 0, nil, err
		}
		req.RequestURI = req.URL.RequestURI()
		w := &response{header: http.Header{}}
		handler.ServeHTTP(w, req)
		if w.code == 0 {
			w.code = http.StatusOK
		}
		return w.code, w.body.Bytes(), nil
	}
}

// ToURL returns the target of a webhook at a URL. If the URL has no path, each request has the path of its recording.
func ToURL(client *http.Client, base string) (Target, error) {
	parsed, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("%q: must be a URL such as https://localhost:9443/mutate: %w", base, err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("%q: must be a URL such as https://localhost:9443/mutate", base)
	}
	return func(ctx context.Context, path string, review []byte) (int, []byte, error) {
		to := *parsed
		path, query, _ := strings.Cut(path, "?")
		if strings.Trim(to.Path, "/") == "" {
			to.Path = "/" + strings.TrimPrefix(path, "/")
		}
		to.RawQuery = cmp.Or(query, to.RawQuery)
		req, err := newRequest(ctx, to.String(), review)
		if err != nil {
			return 0, nil, err
		}
		answer, err := client.Do(req)
		if err != nil {
			return 0, nil, err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return answer.StatusCode, body, err
	}, nil
}

func newRequest(ctx context.Context, to string, review []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(review))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// response is the response of a handler in this process.
type response struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

// Write implements http.ResponseWriter.
func (r *response) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// Result is the result of replaying one file.
type Result struct {
	File reviews.File
	// Diff is the difference between the recorded and the new response, or "".
	Diff string
	// Updated is true if the new response was written into the file.
	Updated bool
}

// Run replays the files of a folder. With update, it writes new responses into the files. It returns an error for files
// that can't be read or written, and for a webhook that can't be reached.
func Run(ctx context.Context, dir string, target Target, update bool) ([]Result, error) {
	files, err := reviews.Read(dir)
	if err != nil {
		return nil, err
	}
	results := make([]Result, 0, len(files))
	for _, file := range files {
		got, err := send(ctx, file.Exchange, target)
		if err != nil {
			return results, fmt.Errorf("%s: %w", file.Path, err)
		}
		result := Result{File: file}
		if result.Diff, err = Diff(file.Exchange, got); err != nil {
			return results, fmt.Errorf("%s: %w", file.Path, err)
		}
		if update && result.Diff != "" {
			if err := file.Rewrite(got); err != nil {
				return results, err
			}
			result.Updated = true
		}
		results = append(results, result)
	}
	return results, nil
}

// send sends the request of an exchange to a target. It returns the exchange with the new response, normalised.
func send(ctx context.Context, e reviews.Exchange, target Target) (reviews.Exchange, error) {
	code, body, err := target(ctx, e.Path, e.Request)
	if err != nil {
		return reviews.Exchange{}, err
	}
	return e.Answered(code, body).Normalise()
}
