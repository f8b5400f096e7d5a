package registry

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

var limitRangeHooks = HooksOf[*corev1.LimitRange]{
	PrepareForCreate: func(_ context.Context, r *corev1.LimitRange) {
		if r.Name == "" {
			r.Name = string(uuid.NewUUID())
		}
	},
	Validate:       validation.LimitRange,
	ValidateUpdate: validation.LimitRangeUpdate,
}

var serviceAccountHooks = HooksOf[*corev1.ServiceAccount]{
	PrepareForCreate: func(_ context.Context, a *corev1.ServiceAccount) { nameSecretsOnly(a) },
	PrepareForUpdate: func(_ context.Context, a, _ *corev1.ServiceAccount) { nameSecretsOnly(a) },
	Validate:         validation.ServiceAccount,
	ValidateUpdate:   validation.ServiceAccountUpdate,
	Warnings:         warnings.ServiceAccount,
}

// nameSecretsOnly drops all but the names of an account's secrets, which are in its
// own namespace whatever the references say.
func nameSecretsOnly(a *corev1.ServiceAccount) {
	for i, ref := range a.Secrets {
		a.Secrets[i] = corev1.ObjectReference{Name: ref.Name}
	}
}

var namespaceFields = FieldsOf[*corev1.Namespace]{
	Values: func(n *corev1.Namespace) fields.Set { return fields.Set{"status.phase": string(n.Status.Phase)} },
	Names:  []string{"status.phase"},
}

var nodeHooks = HooksOf[*corev1.Node]{
	PrepareForCreate:       func(_ context.Context, n *corev1.Node) { dropConfigSource(n, &corev1.Node{}) },
	PrepareForUpdate:       func(_ context.Context, n, old *corev1.Node) { dropConfigSource(n, old) },
	PrepareForStatusUpdate: func(_ context.Context, n, old *corev1.Node) { dropConfigStatus(n, old) },
	Validate:               validation.Node,
	ValidateUpdate:         validation.NodeUpdate,
	ValidateStatusUpdate:   validation.NodeStatusUpdate,
	Warnings:               warnings.Node,
}

// dropConfigSource drops where a node's kubelet has its configuration from, unless the old
// node has that already: kubelets no longer look there (KEP-281).
func dropConfigSource(n, old *corev1.Node) {
	if old.Spec.ConfigSource == nil {
		n.Spec.ConfigSource = nil
	}
}

// dropConfigStatus does the same with what came of it.
func dropConfigStatus(n, old *corev1.Node) {
	if old.Status.Config == nil {
		n.Status.Config = nil
	}
}

var nodeFields = FieldsOf[*corev1.Node]{
	Values: func(n *corev1.Node) fields.Set {
		return fields.Set{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}
	},
	Names: []string{"spec.unschedulable"},
}

var replicationControllerFields = FieldsOf[*corev1.ReplicationController]{
	Values: func(c *corev1.ReplicationController) fields.Set {
		return fields.Set{"status.replicas": strconv.Itoa(int(c.Status.Replicas))}
	},
	Names: []string{"status.replicas"},
}

var secretFields = FieldsOf[*corev1.Secret]{
	Values: func(s *corev1.Secret) fields.Set { return fields.Set{"type": string(s.Type)} },
	Names:  []string{"type"},
}

var serviceFields = FieldsOf[*corev1.Service]{
	Values: func(s *corev1.Service) fields.Set {
		return fields.Set{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
	},
	Names: []string{"spec.clusterIP", "spec.type"},
}
