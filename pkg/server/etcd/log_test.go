package etcd

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// An error that etcd logs is an error of the server's log, too, so that a reader of the log finds it among the errors.
func TestLogHasErrors(t *testing.T) {
	t.Parallel()
	var entry string
	logger := funcr.NewJSON(func(object string) { entry = object }, funcr.Options{})
	if _, err := log(logr.NewContext(t.Context(), logger)).Write([]byte("no space left on device\n")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(entry, `"msg":"no space left on device"`) || !strings.Contains(entry, `"error":`) {
		t.Errorf("want an error without the end of its line, got %s", entry)
	}
}
