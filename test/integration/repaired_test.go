package integration_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If a webhook makes metadata invalid, the server repairs the metadata and warns the client. The server removes a
// duplicate owner, and replaces unreadable managedFields by the earlier managedFields.
func TestMetadataIsRepaired(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	client, seen := warned(t, srv)
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "node", UID: "6f0e7f2a"}
	for _, tc := range []struct {
		name, reason string
		change       miniapitest.PatchOperation
		want         string
	}{
		{"owners", "two references to an owner mean the same as one", miniapitest.Add("/metadata/ownerReferences/-", owner),
			".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 6f0e7f2a"},
		{"managed fields", "the field managers must not be lost", miniapitest.Remove("/metadata/managedFields/0/fieldsType"),
			".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pods := client.CoreV1().Pods(metav1.NamespaceDefault)
			p := pod(strings.ReplaceAll(tc.name, " ", "-"))
			p.OwnerReferences = []metav1.OwnerReference{owner}
			before := must(pods.Create(t.Context(), p, metav1.CreateOptions{}))(t)
			install(t, srv, mutating("break", patch(tc.change), on("CREATE UPDATE", "v1", "pods")))

			for _, verb := range []string{"create", "patch", "update"} {
				seen.take()
				var after *corev1.Pod
				var err error
				switch verb {
				case "create":
					another := p.DeepCopy()
					another.Name += "-2"
					after, err = pods.Create(t.Context(), another, metav1.CreateOptions{DryRun: dry})
				case "patch":
					after, err = pods.Patch(t.Context(), p.Name, types.JSONPatchType, []byte("[]"), metav1.PatchOptions{})
				case "update":
					after, err = pods.Update(t.Context(), before, metav1.UpdateOptions{})
				}
				ok(t, err)
				if diff := cmp.Diff(before.OwnerReferences, after.OwnerReferences); diff != "" {
					t.Errorf("%s: %s: owners (-want +got):\n%s", verb, tc.reason, diff)
				}
				if got, want := fieldOwners(after), fieldOwners(before); !cmp.Equal(want, got) {
					t.Errorf("%s: %s: want fields managed by %v, got %v", verb, tc.reason, want, got)
				}
				if got := seen.take(); len(got) != 1 || !strings.HasPrefix(got[0], "299 - "+tc.want) {
					t.Errorf("%s: want one warning, %q, got %q", verb, tc.want, got)
				}
			}
		})
	}
}

// fieldOwners maps each field manager in a pod's managedFields, with its operation, to the manager's fields.
func fieldOwners(p *corev1.Pod) map[string]string {
	owners := map[string]string{}
	for _, entry := range p.ManagedFields {
		fields := ""
		if entry.FieldsV1 != nil {
			fields = entry.FieldsV1.GetRawString()
		}
		owners[entry.Manager+" "+string(entry.Operation)] = fields
	}
	return owners
}
