package containerlog

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newLog(t *testing.T) *Log {
	t.Helper()
	log, err := Create(filepath.Join(t.TempDir(), "0.log"))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestRead(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	out, errs := log.Stream("stdout"), log.Stream("stderr")
	for _, part := range []struct {
		to   io.Writer
		text string
	}{{out, "o"}, {out, "ne\ntw"}, {errs, "failed\n"}, {out, "o\n\nend"}} {
		if _, err := io.WriteString(part.to, part.text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{out, errs, log} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	future := metav1.NewTime(time.Now().Add(time.Hour))
	for _, test := range []struct {
		name, reason, want string
		options            corev1.PodLogOptions
	}{
		{"all", "lines are in the order of their ends", "one\nfailed\ntwo\n\nend", corev1.PodLogOptions{}},
		{"tail", "the last lines", "\nend", corev1.PodLogOptions{TailLines: new(int64(2))}},
		{"no tail", "no line at all", "", corev1.PodLogOptions{TailLines: new(int64(0))}},
		{"limit", "the first bytes", "one\nfa", corev1.PodLogOptions{LimitBytes: new(int64(6))}},
		{"stream", "one stream", "failed\n", corev1.PodLogOptions{Stream: new("Stderr")}},
		{"since", "nothing is so new", "", corev1.PodLogOptions{SinceTime: &future}},
		{"since seconds", "all is so new", "one\nfailed\ntwo\n\nend", corev1.PodLogOptions{SinceSeconds: new(int64(3600))}},
		{"follow", "the log is closed", "one\nfailed\ntwo\n\nend", corev1.PodLogOptions{Follow: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			if err := log.Read(t.Context(), &got, &test.options); err != nil || got.String() != test.want {
				t.Errorf("%s: want %q, got %q and %v", test.reason, test.want, got.String(), err)
			}
		})
	}
	if got := log.Tail(2, 3); got != "end" {
		t.Errorf("want the last 3 bytes, got %q", got)
	}
}

// A reader that follows gets lines when they are written.
func TestFollow(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- log.Read(t.Context(), write, &corev1.PodLogOptions{Follow: true, Timestamps: true})
		_ = write.Close()
	}()
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(log.Stream("stdout"), line); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 100)
		n, err := read.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		at, got, _ := strings.Cut(string(buffer[:n]), " ")
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil || got != line {
			t.Errorf("want %q with a time, got %q", line, buffer[:n])
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
