package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// judging are policies and a definition that have each effect on the objects of existing.
const judging = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limit}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]}
  validations: [{expression: object.spec.replicas <= int(params.data.most), message: too many replicas}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limit}
spec: {policyName: limit, validationActions: [Deny], paramRef: {name: limit, namespace: shop, parameterNotFoundAction: Deny}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: unchanged}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {tier: front}}
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  validations: [{expression: oldObject != null, message: only existing ones}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: unchanged}
spec: {policyName: unchanged, validationActions: [Warn]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: owner}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'owner': 'web'}}]"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: owner}
spec: {policyName: owner}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  names: {plural: gears, kind: Gear}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {teeth: {type: integer, maximum: 10}}}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: skipped}
`

// existing are objects as kubectl reads them.
const existing = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: front}}, status: {phase: Active}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: limit, namespace: shop}, data: {most: "5"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: shop, uid: 5b7e4d1c-0000-4000-8000-000000000001}
  spec: {replicas: 6, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}
  status: {replicas: 6}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: db, namespace: other, uid: 5b7e4d1c-0000-4000-8000-000000000002}
  spec: {replicas: 1, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: db}]}}}
- {apiVersion: example.com/v1, kind: Gear, metadata: {name: large, namespace: shop}, spec: {teeth: 12, colour: red}}
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: present}, spec: {matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]}, validations: [{expression: "false"}]}}
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: present}, spec: {policyName: present, validationActions: [Deny]}}
`

// The report says what each policy and definition would do with each object, by namespace, with the parameters, the
// labels of namespaces and the old objects of the capture, and without its policies.
func TestTestAgainst(t *testing.T) {
	t.Parallel()
	policies, capture := file(t, "policies.yaml", "%s", judging), file(t, "existing.yaml", "%s", existing)
	for _, test := range []struct {
		name, reason string
		args         []string
		code         int
		want         []string
	}{
		{"text", "each effect has a line", nil, 1, []string{
			"ValidatingAdmissionPolicy/limit  2 objects\n  ValidatingAdmissionPolicy/limit/limit refuses 1 in shop: Deployment web (CREATE, UPDATE)\n      too many replicas\n",
			"ValidatingAdmissionPolicy/unchanged  1 objects\n  ValidatingAdmissionPolicy/unchanged/unchanged warns about 1 in shop: Deployment web (CREATE)\n      only existing ones\n",
			"MutatingAdmissionPolicy/owner/owner changes 1 in other: Deployment db (UPDATE)\n      + metadata.annotations: {\"owner\":\"web\"}\n",
			"CustomResourceDefinition/gears.example.com refuses 1 in shop: Gear large (CREATE)\n",
			"CustomResourceDefinition/gears.example.com changes 1 in shop: Gear large (UPDATE)\n      - spec.colour: \"red\"\n",
			"note: namespace other: isn't in the source",
			"3 objects: 2 refused, 3 changed, 1 with warnings, in ",
		}},
		{"update", "a created object isn't compared with an old one", []string{"--operation", "UPDATE"}, 1, []string{
			"refuses 1 in shop: Deployment web (UPDATE)", "3 objects: 1 refused, 3 changed, 0 with warnings",
		}},
		{"github", "the workflow marks the file", []string{"-o", "github"}, 1, []string{"::error file=" + policies + ",title=ValidatingAdmissionPolicy/limit::"}},
		{"junit", "a refusal is a failure", []string{"-o", "junit"}, 1, []string{`<testsuite name="ValidatingAdmissionPolicy/limit" file="` + policies + `" tests="1" failures="1">`}},
		{"other flags", "cases aren't run", []string{"--run", "a"}, 2, nil},
		{"no operation", "DELETE has no object to review", []string{"--operation", "DELETE"}, 2, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", append([]string{"test", policies, "--against", capture}, test.args...)...).exit(t)
			if code != test.code || (code == 1) != strings.HasSuffix(stderr, "objects would be refused\n") {
				t.Errorf("%s: want code %d, got %d and %q", test.reason, test.code, code, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s: want %q in\n%s", test.reason, want, stdout)
				}
			}
		})
	}
	t.Run("unusable", func(t *testing.T) {
		t.Parallel()
		for args, want := range map[string]string{
			policies + " --against " + filepath.Join(t.TempDir(), "none"): "no such file",
			capture + " --against " + file(t, "empty.yaml", ""):           "must be a kubeconfig, or have objects",
			policies + " --state a":                                       "--state: give --against too",
		} {
			code, _, stderr := start(t, "miniapi", append([]string{"test"}, strings.Fields(args)...)...).exit(t)
			if code != 2 || !strings.Contains(stderr, want) {
				t.Errorf("miniapi test %s: want code 2 and %q, got %d and %q", args, want, code, stderr)
			}
		}
	})
}

// observed is a cluster whose requests are recorded, and that fails once for a page after the first one.
type observed struct {
	url string

	mu       sync.Mutex
	requests []string
	fails    bool
}

func observe(t *testing.T, config *rest.Config) *observed {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	w := &observed{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, req.Method+" "+req.URL.String())
		fails := w.fails && req.URL.Query().Get("continue") != ""
		w.fails = w.fails && !fails
		w.mu.Unlock()
		if fails {
			http.Error(rw, "the connection to etcd is lost", http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(rw, req)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// A cluster is only read, page by page, and a run that was interrupted goes on with the page that it hasn't reviewed.
func TestTestAgainstCluster(t *testing.T) {
	t.Parallel()
	const number = 501 // more than a page
	items := make([]any, number)
	for i := range items {
		items[i] = map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"namespace": "default", "name": fmt.Sprintf("account-%d", i)}}
	}
	encoded, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	_, config := serve(t, "--load", file(t, "accounts.json", "%s", encoded), "--controllers=")
	cluster := observe(t, config)
	cluster.fails = true
	policies := file(t, "policies.yaml", "%s", strings.NewReplacer("[apps]", `[""]`, "[deployments]", "[serviceaccounts]", "object.spec.replicas <= int(params.data.most)", "object.metadata.name != 'account-500'",
		"paramRef: {name: limit, namespace: shop, parameterNotFoundAction: Deny}", "").Replace(strings.Split(judging, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy")[0]))
	state := filepath.Join(t.TempDir(), "state.json")
	kubeconfig := plainKubeconfig(t, cluster.url)
	run := func(args ...string) (int, string, string) {
		return start(t, "miniapi", append([]string{"test", policies, "--against", kubeconfig, "--state", state}, args...)...).exit(t)
	}
	code, _, stderr := run()
	if code != 2 || !strings.Contains(stderr, "the state of 500 objects is in "+state) {
		t.Fatalf("want the first page in the state, got code %d and %q", code, stderr)
	}
	if code, _, stderr := run("--operation", "CREATE"); code != 2 || !strings.Contains(stderr, "is of a run with other policies, operations or objects") {
		t.Errorf("want another run refused, got code %d and %q", code, stderr)
	}
	cluster.requests = nil
	code, stdout, stderr := run()
	if code != 1 || !strings.Contains(stdout, "501 objects: 1 refused") || !strings.Contains(stdout, "refuses 1 in default: ServiceAccount account-500 (CREATE, UPDATE)") {
		t.Errorf("want the other page reviewed, got code %d, %q and\n%s", code, stderr, stdout)
	}
	for _, request := range cluster.requests {
		if !strings.HasPrefix(request, http.MethodGet+" ") || strings.Contains(request, "/serviceaccounts?limit=500") {
			t.Errorf("want no write, and no second list of the first page, got %s", request)
		}
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("want the state file to be removed at the end, got %v", err)
	}
}

// The report says that a Secret would change, and not to what.
func TestTestAgainstSecrets(t *testing.T) {
	t.Parallel()
	policies := file(t, "policies.yaml", "%s", `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: copy}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [secrets]}]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data/copy', value: object.data.token}]"}}]
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: copy}, spec: {policyName: copy}}
`)
	capture := file(t, "secret.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: default}, data: {token: aGlkZGVu}}")
	code, stdout, stderr := start(t, "miniapi", "test", policies, "--against", capture, "-o", "json").exit(t)
	if code != 0 || !strings.Contains(stdout, `"changed": 1`) || strings.Contains(stdout, "aGlkZGVu") {
		t.Errorf("want a change without the content, got code %d, %q and\n%s", code, stderr, stdout)
	}
}
