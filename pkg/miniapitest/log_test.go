package miniapitest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A failed test shows warnings, errors and the fixture's own lines, and no line of an entry that is information.
func TestServerLogWithoutInformation(t *testing.T) {
	t.Parallel()
	const header = "1129 05:35:32.998732    6900 plugins.go:157] "
	log := serverLog{}
	for _, line := range []string{
		"I" + header + "Loaded", "\tmore", " >", "W" + header + "Skipping API apiextensions.k8s.io/v1beta1 because it has no resources.",
		"W" + header + "unusual", "E" + header + `"failed" err=<`, "\treason", " >", "I" + header + "Stopped",
	} {
		log.add(line)
	}
	log.note("a note")
	want := "W" + header + "unusual\nE" + header + "\"failed\" err=<\n\treason\n >\nminiapitest: a note"
	if got := log.unread(); got != want {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

// The error of a failed start has the last log lines of that server, and no lines of other servers.
func TestServerLog(t *testing.T) {
	t.Parallel()
	errFailed := errors.New("failed")
	logs := [2]serverLog{}
	if err := logs[0].explain(errFailed); err != errFailed { //nolint:errorlint // an empty log adds nothing to the error
		t.Errorf("want the error as it was, got %v", err)
	}
	for i := range logs {
		for line := range 2 * logLines {
			logs[i].note("server=%d line=%d", i, line)
		}
	}
	for i := range logs {
		err := logs[i].explain(errFailed)
		if !errors.Is(err, errFailed) || !strings.HasPrefix(err.Error(), "failed\nthe server's log:\n") {
			t.Errorf("want the error first, got %v", err)
		}
		for _, want := range []struct {
			text  string
			there bool
		}{
			{fmt.Sprintf("miniapitest: server=%d line=%d", i, 2*logLines-1), true},
			{fmt.Sprintf(`server=%d line=%d`, i, logLines), true},
			{fmt.Sprintf(`server=%d line=%d`+"\n", i, logLines-1), false},
			{fmt.Sprintf("(%d lines before)\n", logLines), true},
			{fmt.Sprintf(`server=%d`, 1-i), false},
		} {
			if strings.Contains(err.Error(), want.text) != want.there {
				t.Errorf("server %d: want %s there %t, got:\n%v", i, want.text, want.there, err)
			}
		}
	}
}
