package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/fault"
)

func TestSelects(t *testing.T) {
	t.Parallel()
	scale := subject{verb: "update", group: "apps", resource: "deployments", subresource: "scale", namespace: "a", name: "web", user: "ann", userAgent: "manager/v1"}
	main := scale
	main.subresource = ""
	version := subject{verb: "get", path: "/version", user: "ann"}
	call := main
	call.webhook, call.configuration = "pods.example.com", "my-hooks"
	for _, test := range []struct {
		name, reason string
		fault        Fault
		// want names the selected subjects. The test has four subjects: a request for the subresource scale, a request
		// for the resource itself (main), a request for /version, and a call of a webhook.
		want string
	}{
		{"all", "an empty field selects all requests for resources", Fault{Status: 500}, "scale main"},
		{"verb", "the requests have another verb", Fault{Status: 500, Verbs: []string{"get"}}, ""},
		{"default verbs", "conflicts are for writes", Fault{Conflict: true}, "scale main"},
		{"other default verbs", "stale answers are for lists", Fault{Stale: "-1"}, ""},
		{"resource", "the name of a resource doesn't select its subresources",
			Fault{Status: 500, Resources: []string{"deployments"}}, "main"},
		{"resource of the group", "a name with a group selects only resources of the group",
			Fault{Status: 500, Resources: []string{"deployments.apps"}}, "main"},
		{"resource of another group", "a name with another group doesn't select the resource",
			Fault{Status: 500, Resources: []string{"deployments.extensions"}}, ""},
		{"resource of the core group", "the core group has the empty name", Fault{Status: 500, Resources: []string{"deployments."}}, ""},
		{"subresource", "the fault names the subresource", Fault{Status: 500, Resources: []string{"deployments/scale"}}, "scale"},
		{"subresource of the group", "the fault names the group and the subresource",
			Fault{Status: 500, Resources: []string{"deployments.apps/scale"}}, "scale"},
		{"subresources of all", "a star stands for any text", Fault{Status: 500, Resources: []string{"*/*"}}, "scale main"},
		{"several resources", "one matching element of a list is enough",
			Fault{Status: 500, Resources: []string{"pods", "deployments", "*/scale"}}, "scale main"},
		{"namespace", "the list has the object's namespace", Fault{Status: 500, Namespaces: []string{"b", "a"}}, "scale main"},
		{"other namespace", "the object is in another namespace", Fault{Status: 500, Namespaces: []string{"b"}}, ""},
		{"name", "a star stands for any text", Fault{Status: 500, Names: []string{"w*b"}}, "scale main"},
		{"other name", "the object has another name", Fault{Status: 500, Names: []string{"w*d"}}, ""},
		{"user", "the request has this user", Fault{Status: 500, Users: []string{"ann"}}, "scale main"},
		{"other user", "the request has another user", Fault{Status: 500, Users: []string{"bob"}}, ""},
		{"user agent", "clients put their version behind the name", Fault{Status: 500, UserAgents: []string{"manager/*"}}, "scale main"},
		{"other user agent", "clients put their version behind the name", Fault{Status: 500, UserAgents: []string{"kubectl/*"}}, ""},
		{"path", "a fault with paths selects only requests for these paths",
			Fault{Status: 500, Paths: []string{"/version", "/api*"}}, "version"},
		{"other path", "a fault with paths selects no other path", Fault{Status: 500, Paths: []string{"/healthz"}}, ""},
		{"webhook", "a fault with webhooks selects only calls of webhooks",
			Fault{Refuse: true, Webhooks: []string{"*.example.com"}}, "call"},
		{"webhook of a configuration", "a webhook may be named with its configuration",
			Fault{Refuse: true, Webhooks: []string{"my-*/pods*"}}, "call"},
		{"other webhook", "a webhook with the same name is in another configuration",
			Fault{Refuse: true, Webhooks: []string{"other/pods.example.com"}}, ""},
		{"webhook for a resource", "the other fields select the request for which the webhook is called",
			Fault{Refuse: true, Webhooks: []string{"*"}, Resources: []string{"pods"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := test.fault.validate(); err != nil {
				t.Fatal(err)
			}
			r := newRule(test.fault, fromFlags, 0)
			got := ""
			for _, s := range []struct {
				name    string
				subject subject
			}{{"scale", scale}, {"main", main}, {"version", version}, {"call", call}} {
				if r.selects(&s.subject) {
					got += " " + s.name
				}
			}
			if diff := cmp.Diff(test.want, string(bytes.TrimSpace([]byte(got)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "x", true}, {"a*", "a", true}, {"a*", "ba", false},
		{"*a", "ba", true}, {"*a", "ab", false}, {"a*c", "abc", true}, {"a*a", "a", false}, {"a*b*c", "a-b-b-c", true},
		{"a*b*c", "ac", false}, {"**", "x", true}, {"", "", true}, {"", "x", false}, {"*ab*ab", "abab", true}, {"*ab*ab", "ab", false},
	} {
		if got := glob(test.pattern, test.text); got != test.want {
			t.Errorf("%q matches %q: want %t, got %t", test.pattern, test.text, test.want, got)
		}
	}
}

// injected returns the numbers of the requests that meet a fault, with their latencies. The requests are numbered from
// 1.
func injected(f Fault, seed uint64, requests int) (numbers []uint64, delays []time.Duration) {
	r := newRule(f, fromFlags, seed)
	for range requests {
		if met := r.decide(&subject{}); met != nil {
			numbers, delays = append(numbers, met.number), append(delays, met.delay)
		}
	}
	return numbers, delays
}

func TestRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		requests fault.Numbers
		want     []uint64
	}{
		{"", []uint64{1, 2, 3, 4, 5, 6}}, {"3", []uint64{3}}, {"2-4", []uint64{2, 3, 4}}, {"5-", []uint64{5, 6}},
		{"1, 3-4,6", []uint64{1, 3, 4, 6}},
	} {
		got, _ := injected(Fault{Status: 500, Requests: test.requests}, 0, 6)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("requests %q (-want +got):\n%s", test.requests, diff)
		}
	}
}

// The random choice depends on the seed, the fault's name and the request's number. The same seed gives the same
// requests in each run, and another seed gives other requests.
func TestShareIsReproducible(t *testing.T) {
	t.Parallel()
	const requests = 10_000
	f := Fault{Name: "some", Latency: "~100ms", Share: 0.3}
	first, delays := injected(f, 7, requests)
	again, delaysAgain := injected(f, 7, requests)
	if !slices.Equal(first, again) || !slices.Equal(delays, delaysAgain) {
		t.Error("the same seed draws something else")
	}
	if share := float64(len(first)) / requests; math.Abs(share-float64(f.Share)) > 0.02 {
		t.Errorf("want about %g of the requests, got %g", f.Share, share)
	}
	if other, _ := injected(f, 8, requests); slices.Equal(first, other) {
		t.Error("another seed draws the same")
	}
	f.Name = "others"
	if other, _ := injected(f, 7, requests); slices.Equal(first, other) {
		t.Error("a fault of another name draws the same")
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text                string
		mean, deviation     time.Duration
		smallest, greatest  time.Duration
		toleranceOfMeanInMs float64
	}{
		{"200ms", 200 * time.Millisecond, 0, 200 * time.Millisecond, 200 * time.Millisecond, 0},
		{"100ms..300ms", 200 * time.Millisecond, 58 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, 2},
		{"200ms+-20ms", 200 * time.Millisecond, 20 * time.Millisecond, 0, time.Second, 2},
		{"~200ms", 200 * time.Millisecond, 200 * time.Millisecond, 0, time.Minute, 8},
	} {
		draw, err := parseLatency(test.text)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 10_000
		source := rand.New(rand.NewPCG(1, 2))
		var sum, squares float64
		for range draws {
			d := draw(source)
			if d < test.smallest || d > test.greatest {
				t.Fatalf("%s: want %s to %s, got %s", test.text, test.smallest, test.greatest, d)
			}
			ms := float64(d) / float64(time.Millisecond)
			sum, squares = sum+ms, squares+ms*ms
		}
		mean := sum / draws
		deviation := math.Sqrt(max(0, squares/draws-mean*mean))
		if math.Abs(mean-float64(test.mean.Milliseconds())) > test.toleranceOfMeanInMs {
			t.Errorf("%s: want a mean of %s, got %g ms", test.text, test.mean, mean)
		}
		if math.Abs(deviation-float64(test.deviation.Milliseconds())) > 10 {
			t.Errorf("%s: want a standard deviation of %s, got %g ms", test.text, test.deviation, deviation)
		}
	}
}

// In a create request, the name of the object is in the body, in one of several encodings. The handler still gets the
// whole body after the name has been read from it.
func TestNameOfCreatedObject(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	inJSON, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	inCBOR, err := cbor.Marshal(map[string]any{"metadata": map[string]any{"name": "web"}})
	if err != nil {
		t.Fatal(err)
	}
	inProtobuf, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		contentType string
		body        []byte
		want        string
	}{
		{"application/json", inJSON, "web"},
		{"", inJSON, "web"},
		{"application/cbor", inCBOR, "web"},
		{"application/vnd.kubernetes.protobuf", inProtobuf, "web"},
		{"application/yaml", []byte("metadata:\n  name: web\n"), "web"},
		{"application/json", []byte(`{"metadata":`), ""},
		{"application/vnd.kubernetes.protobuf", []byte("k8s\x00junk"), ""},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(test.body))
		req.Header.Set("Content-Type", test.contentType)
		s := &subject{created: req}
		if got := s.objectName(); got != test.want {
			t.Errorf("%s: want the name %q, got %q", test.contentType, test.want, got)
		}
		var rest bytes.Buffer
		if _, err := rest.ReadFrom(req.Body); err != nil || !bytes.Equal(rest.Bytes(), test.body) {
			t.Errorf("%s: want the whole body afterwards, got %q, %v", test.contentType, rest.Bytes(), err)
		}
	}
}

func TestFramesOfProtobuf(t *testing.T) {
	t.Parallel()
	stream := []byte{0, 0, 0, 2, 'a', 'b', 0, 0, 0, 1, 'c', 0, 0, 0, 3, 'd', 'e', 'f'}
	for size := 1; size <= len(stream); size++ {
		count, frames := (&lengths{}).complete, 0
		for part := range slices.Chunk(stream, size) {
			frames += count(part)
		}
		if frames != 3 {
			t.Errorf("in writes of %d bytes: want 3 frames, got %d", size, frames)
		}
	}
}

// Without faults, the handler allocates no memory for a request.
func TestNoFaultsNoAllocations(t *testing.T) {
	served := 0
	handler := New(Config{Stopping: t.Context()}).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	info := &request.RequestInfo{IsResourceRequest: true, Verb: "update", Resource: "pods", Path: "/api/v1/namespaces/a/pods/b"}
	ctx := request.WithUser(request.WithRequestInfo(context.Background(), info), &user.DefaultInfo{Name: "ann"})
	req := httptest.NewRequestWithContext(ctx, http.MethodPut, info.Path, http.NoBody)
	w := httptest.NewRecorder()
	if allocations := testing.AllocsPerRun(100, func() { handler.ServeHTTP(w, req) }); allocations != 0 {
		t.Errorf("want no allocations, got %g a request", allocations)
	}
	if served == 0 {
		t.Error("no request was served")
	}
}
