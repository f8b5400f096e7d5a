package integration_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server/decisions"
)

// With 32 clients, no request is lost. Both a client that follows requests and the memory of the server have each
// request once, in the order of their ids. The requests of each client are in the order in which it made them.
func TestRequestsOfManyClients(t *testing.T) {
	t.Parallel()
	const clients, each = 32, 10
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	install(t, srv, mutating("a", patch(miniapitest.Add("/metadata/labels/a", "1"))), validating("b", allow()))
	stream := must(srv.Client().Discovery().RESTClient().Get().AbsPath(decisions.RequestsPath).Param("follow", "true").Param("resource", "configmaps").Stream(t.Context()))(t)
	defer stream.Close()
	var makers sync.WaitGroup
	for client := range clients {
		makers.Go(func() {
			for n := range each {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%02d-%d", client, n), Labels: map[string]string{"app": "db"}}}
				if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var followed []string
	reader := bufio.NewReader(stream)
	for last := int64(0); len(followed) < clients*each; {
		var event decisions.Event
		ok(t, json.Unmarshal(must(reader.ReadBytes('\n'))(t), &event))
		if event.Missed > 0 || event.Request == nil || event.Request.ID <= last {
			t.Fatalf("want the next request after %d, got %+v", last, event)
		}
		last = event.Request.ID
		if calls := strings.Count(string(must(json.Marshal(event.Request))(t)), `"outcome":"allowed"`); calls != 2 {
			t.Errorf("%s: want the calls of both webhooks, got %d", event.Request.Name, calls)
		}
		followed = append(followed, event.Request.Name)
	}
	makers.Wait()
	var kept []string
	for _, request := range recorded(t, srv, "configmaps") {
		kept = append(kept, request.Name)
	}
	if strings.Join(kept, " ") != strings.Join(followed, " ") {
		t.Errorf("want the same requests in the memory as followed, got %d and %d", len(kept), len(followed))
	}
	next := map[string]int{}
	for _, name := range followed {
		client, n, _ := strings.Cut(name, "-")
		if n != fmt.Sprint(next[client]) {
			t.Errorf("client %s: want request %d next, got %s", client, next[client], n)
		}
		next[client]++
	}
}
