package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// heapOf returns the bytes of the objects on a server's heap after two garbage collections. The memory of a sync.Pool is
// free only after the second one.
func heapOf(t *testing.T, server kubernetes.Interface) int {
	t.Helper()
	heapAfterCollection(t, server)
	return heapAfterCollection(t, server)
}

func heapAfterCollection(t *testing.T, server kubernetes.Interface) int {
	t.Helper()
	profile, err := server.Discovery().RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").Param("debug", "1").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`).FindSubmatch(profile)
	if found == nil {
		t.Fatalf("want the size of the heap in %.300s", profile)
	}
	bytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// 32 clients make many large requests, and the memory of the recorded requests stays near --trace-bytes. Clients that
// follow the requests and don't read the stream need little more memory.
func TestTraceMemory(t *testing.T) {
	t.Parallel()
	const limit, clients, each, size = 8 << 20, 32, 8, 200 << 10
	_, config := serve(t, fmt.Sprint("--trace-bytes=", limit))
	server := client(t, config)
	flood := func() {
		t.Helper()
		var makers sync.WaitGroup
		for c := range clients {
			makers.Go(func() {
				for n := range each {
					object := &corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d-%d", c, n)},
						Data:       map[string]string{"data": strings.Repeat("x", size)},
					}
					if _, err := server.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		makers.Wait()
	}
	flood() // the server doesn't record these requests, but its buffers and caches grow
	before := heapOf(t, server)
	for range 3 {
		stream, err := server.Discovery().RESTClient().Get().AbsPath(admissiontrace.RequestsPath).Param("follow", "true").Stream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	flood()
	switch grown := heapOf(t, server) - before; {
	case grown > 2*limit:
		t.Errorf("want about %d bytes more, got %d", limit, grown)
	case grown < limit/2:
		t.Errorf("want a full record of %d bytes, got %d", limit, grown)
	}
}
