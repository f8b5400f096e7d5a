package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// putGarbage stores a value that no server can decode. It calls the JSON API of an etcd that listens on a socket.
func putGarbage(t *testing.T, socket, key string) {
	t.Helper()
	body, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": []byte("\xff\xfe garbage")})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(socket, "unix://"))
	}}}
	answer, err := client.Post("http://etcd/v3/kv/put", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("put %s: %s", key, answer.Status)
	}
}

// An object that can't be decoded ends a start only if kube-apiserver would never become ready either, because an informer
// needs the object. The log of the start, which takes long, has the object's key.
func TestUndecodableObject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, key string
		want              string // the error of the start
	}{
		{"ConfigMap", "only clients read it", "/registry/configmaps/default/bad", ""},
		{"ClusterRole", "authorization needs all roles", "/registry/clusterroles/bad", "the server can't list clusterroles.rbac.authorization.k8s.io: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := startEtcd(t)
			putGarbage(t, store, test.key)
			p := start(t, "miniapi", "serve", "--secure-port=0", "--write-kubeconfig="+t.TempDir()+"/kubeconfig", "--etcd-servers="+store)
			_, ready := <-p.lines
			if !ready {
				<-p.done
			}
			if ready != (test.want == "") {
				t.Errorf("%s: ready: %v", test.reason, ready)
			}
			if stderr := p.stderr.String(); !strings.Contains(stderr, fmt.Sprintf("Key: %s,", test.key)) || !strings.Contains(stderr, test.want) {
				t.Errorf("%s: the log lacks the key %s or %q: %s", test.reason, test.key, test.want, stderr)
			}
		})
	}
}
