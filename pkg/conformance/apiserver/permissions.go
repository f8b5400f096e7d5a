package apiserver

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

var (
	// everyVerb has all verbs of resources, except for verbs such as escalate and impersonate, which raise permissions.
	everyVerb   = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	createVerb  = []string{"create"}
	readVerb    = []string{"get"}
	changeVerbs = []string{"get", "patch", "update"}
	// walkCases has globs of the cases that exist for each resource in discovery.
	walkCases = []string{"every.*"}
)

// Permissions returns all permissions that the suite needs, including the permissions for webhooks in the cluster. It
// leaves out the permissions that RBAC gives each authenticated user: to read discovery, and to request the user's own
// name and permissions.
func Permissions() []trial.Permission {
	core := []string{""}
	return []trial.Permission{
		{For: "the namespaces of the cases", Groups: core, Resources: []string{"namespaces"}, Verbs: everyVerb},
		{For: "to finish a namespace on a server without controllers", Groups: core,
			Resources: []string{"namespaces/finalize"}, Verbs: []string{"update"}},
		{For: "objects in the namespaces of the cases", Groups: core, Verbs: everyVerb,
			Resources: []string{"configmaps", "limitranges", "pods", "resourcequotas", "secrets", "serviceaccounts", "services"}},
		{For: "the status of namespaces that are being deleted; the status of services and pods", Groups: core,
			Resources: []string{"namespaces/status", "pods/status", "services/status"}, Verbs: changeVerbs},
		{For: "the status of a quota on a server without controllers", Groups: core,
			Resources: []string{"resourcequotas/status"}, Verbs: []string{"patch"}},
		{For: "reviews of subresources that are created", Groups: core, Verbs: createVerb,
			Resources: []string{"pods/attach", "pods/binding", "pods/eviction", "pods/exec", "pods/portforward", "serviceaccounts/token"}},
		{For: "reviews of connections; the link to the webhooks in the cluster", Groups: core,
			Resources: []string{"pods/proxy", "services/proxy"}, Verbs: readVerb},
		{For: "reviews of connections to a node that doesn't exist", Groups: core, Resources: []string{"nodes/proxy"},
			Names: []string{"conformance-no-such-node"}, Verbs: readVerb},
		{For: "webhooks and policies", Groups: []string{"admissionregistration.k8s.io"}, Verbs: everyVerb, Resources: []string{
			"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
			"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
		}},
		{For: "definitions of custom resources", Groups: []string{"apiextensions.k8s.io"},
			Resources: []string{"customresourcedefinitions"}, Verbs: everyVerb},
		{For: "custom resources of groups that the cases define; a rule can't name these groups", Groups: []string{"*"},
			Resources: []string{"limits", "things"}, Verbs: everyVerb},
		{For: "subresources of custom resources of groups that the cases define", Groups: []string{"*"},
			Resources: []string{"things/scale", "things/status"}, Verbs: changeVerbs},
		{For: "objects in the namespaces of the cases; the Deployment of the webhooks in the cluster",
			Groups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: everyVerb},
		{For: "reviews of subresources", Groups: []string{"apps"},
			Resources: []string{"deployments/scale", "deployments/status"}, Verbs: changeVerbs},
		{For: "Deployments in an old version, if the server serves the version", Groups: []string{"extensions"},
			Resources: []string{"deployments"}, Verbs: everyVerb},
		{For: "reviews of subresources of Deployments in an old version", Groups: []string{"extensions"},
			Resources: []string{"deployments/scale"}, Verbs: []string{"patch"}},
		{For: "objects in the namespaces of the cases", Groups: []string{"autoscaling"},
			Resources: []string{"horizontalpodautoscalers"}, Verbs: everyVerb},
		{For: "reviews of subresources", Groups: []string{"autoscaling"},
			Resources: []string{"horizontalpodautoscalers/status"}, Verbs: changeVerbs},
		{For: "objects in the namespaces of the cases", Groups: []string{"coordination.k8s.io"},
			Resources: []string{"leases"}, Verbs: everyVerb},
		{For: "events of both groups, which are the same objects", Groups: []string{"", "events.k8s.io"},
			Resources: []string{"events"}, Verbs: everyVerb},
		{For: "endpoints of webhooks that the server calls through a service", Groups: []string{"discovery.k8s.io"},
			Resources: []string{"endpointslices"}, Verbs: everyVerb},
		{For: "roles without rules", Groups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterroles"}, Verbs: everyVerb},
		{For: "the metrics of admission", URLs: []string{"/metrics"}, Verbs: readVerb},
		{For: "an object of each resource that the server lists", Cases: walkCases, Groups: []string{"*"},
			Resources: []string{"*"}, Verbs: everyVerb},
		{For: "bindings to a role that doesn't exist", Cases: walkCases, Groups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterroles"},
			Names: []string{"conformance-none"}, Verbs: []string{"bind"}},
		{For: "approvals of requests to a signer that doesn't exist", Cases: walkCases, Groups: []string{"certificates.k8s.io"}, Resources: []string{"signers"},
			Names: []string{"conformance.miniapi.dev/none"}, Verbs: []string{"approve"}},
	}
}

// PermissionsOf returns Permissions without those that only other cases need.
func PermissionsOf(cases []conformance.Case) []trial.Permission {
	return slices.DeleteFunc(Permissions(), func(p trial.Permission) bool {
		needed := conformance.Selection{Only: p.Cases}
		return len(needed.Of(cases)) == 0
	})
}

// roleName is the name of the role, its binding, its user and the user's namespace.
const roleName = "conformance"

// Role returns manifests of a role with permissions, and of a service account that has the role.
func Role(permissions []trial.Permission) ([]byte, error) {
	meta := metav1.ObjectMeta{Name: roleName}
	role := &rbacv1.ClusterRole{TypeMeta: typed(rbacv1.SchemeGroupVersion.String(), "ClusterRole"), ObjectMeta: meta}
	for _, p := range permissions {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: p.Groups, Resources: p.Resources, ResourceNames: p.Names, NonResourceURLs: p.URLs, Verbs: p.Verbs})
	}
	var out bytes.Buffer
	for _, object := range []any{
		&corev1.Namespace{TypeMeta: typed("v1", "Namespace"), ObjectMeta: meta},
		&corev1.ServiceAccount{TypeMeta: typed("v1", "ServiceAccount"),
			ObjectMeta: metav1.ObjectMeta{Name: roleName, Namespace: roleName}},
		role,
		&rbacv1.ClusterRoleBinding{
			TypeMeta: typed(rbacv1.SchemeGroupVersion.String(), "ClusterRoleBinding"), ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: roleName},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: roleName, Name: roleName}},
		},
	} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("encoding the manifests of the role %q in YAML: %w", roleName, err)
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes(), nil
}

func typed(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// PermissionTable returns permissions as a Markdown table.
func PermissionTable(permissions []trial.Permission) string {
	var table strings.Builder
	table.WriteString("| API group | resources | verbs | for |\n| --- | --- | --- | --- |\n")
	for _, p := range permissions {
		resources, verbs, purpose := "`"+strings.Join(append(slices.Clone(p.Resources), p.URLs...), "`, `")+"`", strings.Join(p.Verbs, ", "), p.For
		if slices.Equal(p.Verbs, everyVerb) {
			verbs = "all"
		}
		if len(p.Names) > 0 {
			resources += ", of the name `" + strings.Join(p.Names, "`, `") + "`"
		}
		if len(p.Cases) > 0 {
			purpose += "; `--skip '" + strings.Join(p.Cases, ",") + "'` needs no such rule"
		}
		group := "`" + strings.Join(p.Groups, "`, `") + "`"
		switch {
		case len(p.URLs) > 0:
			group = ""
		case p.Groups[0] == "":
			group = "`\"\"`"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", group, resources, verbs, purpose)
	}
	return table.String()
}
