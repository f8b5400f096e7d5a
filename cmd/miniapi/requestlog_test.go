package main

import (
	"context"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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
			"request", "everything is known",
			server.Request{
				Received: received, Took: 1234567 * time.Nanosecond, Verb: "list", URI: "/api/v1/pods?limit=500", Code: 200,
				User: "system:admin", UserAgent: "kubectl/v1.36.3 (linux/amd64) kubernetes/abc",
			},
			"09:08:07.006 200 1.23ms list /api/v1/pods?limit=500 system:admin kubectl/v1.36.3\n",
		},
		{
			"impersonation", "both users count",
			server.Request{Received: received, Took: time.Second, Verb: "get", URI: "/api", Code: 403, User: "system:admin", As: "alice", UserAgent: "curl/8"},
			"09:08:07.006 403 1s get /api system:admin as alice curl/8\n",
		},
		{
			"nobody", "what isn't known keeps its place",
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

// Each request of a client is a line, whatever comes of it, and none of the server's own is.
func TestLogRequests(t *testing.T) {
	t.Parallel()
	p, config := serve(t, "--log-requests")
	config.UserAgent = "test/v1 (of this)"
	admin := client(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	watch, err := admin.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-watch.ResultChan()
	cancel()
	alice := rest.CopyConfig(config)
	alice.Impersonate.UserName = "alice"
	_, _ = client(t, alice).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	nobody := rest.AnonymousClientConfig(config)
	nobody.BearerToken = "wrong"
	nobody.UserAgent = config.UserAgent
	_, _ = client(t, nobody).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	p.signal(t, syscall.SIGTERM)
	_, _, stderr := p.exit(t)

	for _, want := range []string{
		`201 \S+ create /api/v1/namespaces/default/configmaps system:admin test/v1`,
		`200 \S+ watch /api/v1/namespaces/default/configmaps\?watch=true system:admin test/v1`,
		`403 \S+ list /api/v1/nodes system:admin as alice test/v1`,
		`401 \S+ list /api/v1/nodes - test/v1`,
	} {
		line := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3} ` + want + `$`)
		if n := len(line.FindAllString(stderr, -1)); n != 1 {
			t.Errorf("want one line %s, got %d in:\n%s", want, n, stderr)
		}
	}
	if strings.Contains(stderr, "system:apiserver") || strings.Contains(stderr, "/leases") {
		t.Errorf("want no requests of the server's own, got:\n%s", stderr)
	}
}

// The log is JSON when it is told to be, and so are its requests.
func TestLogRequestsInJSON(t *testing.T) {
	t.Parallel()
	p, config := serve(t, "--log-requests", "--logging-format=json")
	if _, err := client(t, config).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGTERM)
	_, _, stderr := p.exit(t)
	line := regexp.MustCompile(`(?m)^\{.*"msg":"Request".*"verb":"list","uri":"/api/v1/nodes","code":200,.*"user":"system:admin".*\}$`)
	if !line.MatchString(stderr) {
		t.Errorf("want the request as %s, got:\n%s", line, stderr)
	}
}
