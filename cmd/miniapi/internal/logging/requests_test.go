package logging

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

func TestRequestLine(t *testing.T) {
	t.Parallel()
	received := time.Date(2026, 11, 23, 9, 8, 7, 6_543_210, time.UTC)
	for _, test := range []struct {
		name, reason string
		request      server.Request
		want         string
	}{
		{
			"request", "all fields are known",
			server.Request{
				Received: received, Took: 1234567 * time.Nanosecond, Verb: "list", URI: "/api/v1/pods?limit=500", Code: 200,
				User: "system:admin", UserAgent: "kubectl/v1.36.3 (linux/amd64) kubernetes/abc",
			},
			"09:08:07.006 200 1.23ms list /api/v1/pods?limit=500 system:admin kubectl/v1.36.3\n",
		},
		{
			"impersonation", "both users count",
			server.Request{Received: received, Took: time.Second, Verb: "get", URI: "/api", Code: 403,
				User: "system:admin", As: "alice", UserAgent: "curl/8"},
			"09:08:07.006 403 1s get /api system:admin as alice curl/8\n",
		},
		{
			"anonymous", "an unknown field keeps its place",
			server.Request{Received: received, Verb: "get", URI: "/api", Code: 401},
			"09:08:07.006 401 0s get /api - -\n",
		},
		{
			"odd name", "a line stays a line",
			server.Request{Received: received, Verb: "get", URI: "/api", Code: 200, User: "a b\nc", UserAgent: "x"},
			`09:08:07.006 200 0s get /api "a b\nc" x` + "\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, requestLine(test.request)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
