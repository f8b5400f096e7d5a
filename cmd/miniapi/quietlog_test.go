package main

import (
	"bytes"
	"net/http"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

func TestQuietLog(t *testing.T) {
	t.Parallel()
	const notStatus = `E1123 01:38:48.157006     324 status.go:71] "Unhandled Error" err="apiserver received an error that is not an metav1.Status: `
	for _, test := range []struct {
		name, reason, entry string
		passes              bool
	}{
		{"information", "it takes -v", `I1123 01:38:48.157006     324 server.go:10] "Serving"`, false},
		{"warning", "a user should know", `W1123 01:38:48.157006     324 authentication.go:10] unusual`, true},
		{"failed webhook", "the server's log has it", `E1123 01:38:48.157006     324 outcome.go:80] "a request is refused since the call of a webhook failed" err="context deadline exceeded"`, true},
		{"wrong credentials", "the client isn't told why", `E1123 01:38:48.157006     324 authentication.go:76] "Unable to authenticate the request" err="invalid bearer token"`, true},
		{"patch", "the client is told", notStatus + `&errors.errorString{s:\"unknown patch type: foo in map: map[$patch:foo]\"}: unknown patch type"`, false},
		{"patch of several lines", "the client is told", "E1123 01:38:48.157006     324 status.go:71] \"Unhandled Error\" err=<\n\tapiserver received an error that is not an metav1.Status: &errors.errorString{s:\"The order in patch list:\\n\"}\n >", false},
		{"resource version", "the client is told", notStatus + `&strconv.NumError{Func:\"ParseUint\", Num:\"abc\"}: strconv.ParseUint"`, false},
		{"client that is gone", "nobody is there to be told", notStatus + `&net.OpError{Op:\"read\"}: read: connection reset by peer"`, false},
		{"etcd", "the storage is the server's", notStatus + `&status.Error{s:(*status.Status)(0x1)}: rpc error: code = ResourceExhausted desc = etcdserver: mvcc: database space exceeded"`, true},
		{"conversion webhook", "its author looks here", notStatus + `&errors.errorString{s:\"conversion webhook for example.com/v1, Kind=Widget failed: Post: connection refused\"}: conversion webhook"`, true},
		{"selector", "the client is told", `E1123 01:38:51.515994     324 requestinfo.go:226] "Couldn't parse request" err="found '=='" request={"labelSelector":["a==b==c"]}`, false},
		{"answer that nobody waited for", "the client has ended it", `E1123 01:38:54.140781     324 writers.go:130] "Unhandled Error" err="apiserver was unable to write a application/json response: http: Handler timeout" logger="UnhandledError"`, false},
		{"request that went on", "the client has ended it", `E1123 01:39:00.807588     324 timeout.go:140] "Post-timeout activity" logger="UnhandledError" timeElapsed="4.396µs"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := &quietLog{to: &out}
			log.open()
			if n, err := log.Write([]byte(test.entry)); n != len(test.entry) || err != nil {
				t.Errorf("want all of it to be taken, got %d, %v", n, err)
			}
			if passes := out.Len() > 0; passes != test.passes {
				t.Errorf("want passed on %t, because %s, got %t", test.passes, test.reason, passes)
			}
			out.Reset()
			log.close()
			if _, err := log.Write([]byte(test.entry)); err != nil || out.Len() > 0 {
				t.Errorf("want a closed log to pass on nothing, got %q, %v", out.String(), err)
			}
		})
	}
}

// A request that the client got wrong isn't an error of the server, and isn't logged as one.
func TestClientErrorsAreNotLogged(t *testing.T) {
	t.Parallel()
	p, config := serve(t)
	maps := client(t, config).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, patch := range map[types.PatchType]string{
		types.StrategicMergePatchType: `{"$patch":"odd"}`,
		types.MergePatchType:          `{"metadata":{"resourceVersion":"odd"}}`,
		types.JSONPatchType:           `[{"op":"remove","path":"/data/missing"}]`,
		types.ApplyYAMLPatchType:      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"odd":1}`,
	} {
		if _, err := maps.Patch(t.Context(), "a", name, []byte(patch), metav1.PatchOptions{FieldManager: manager(name)}); err == nil {
			t.Errorf("%s %s: want an error", name, patch)
		}
	}
	plain, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"labelSelector=a==b==c", "limit=odd", "watch=1&resourceVersion=odd", "timeout=odd", "timeout=1us"} {
		response, err := plain.Get(config.Host + "/api/v1/namespaces/default/configmaps?" + query)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < http.StatusBadRequest {
			t.Errorf("%s: want an error, got %s", query, response.Status)
		}
	}
	p.signal(t, syscall.SIGTERM)
	if _, _, stderr := p.exit(t); stderr != "" {
		t.Errorf("want nothing in the log, got:\n%s", stderr)
	}
}

// manager is a field manager for the kind of patch that has one.
func manager(kind types.PatchType) string {
	if kind == types.ApplyYAMLPatchType {
		return "test"
	}
	return ""
}
