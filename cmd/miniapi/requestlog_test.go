package main

import (
	"context"
	"regexp"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// With --log-requests, the log has a line for each request of a client, whether it succeeds or not. The log has no
// requests of the server itself.
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

// With --logging-format=json, the log has requests as JSON.
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
