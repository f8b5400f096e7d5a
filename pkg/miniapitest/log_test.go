package miniapitest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

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
