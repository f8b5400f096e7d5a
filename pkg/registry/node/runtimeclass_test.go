package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestRuntimeClassWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "old node label", Reason: "the path does not contain the label",
			Object: &nodev1.RuntimeClass{Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux"}}},
			Want:   []string{`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead`},
		},
	})
}

func TestRuntimeClassErrors(t *testing.T) {
	t.Parallel()
	class := func(handler string, finalizers []string, tolerations ...corev1.Toleration) *nodev1.RuntimeClass {
		c := &nodev1.RuntimeClass{ObjectMeta: registrytest.ClusterStored("c"), Handler: handler, Scheduling: &nodev1.Scheduling{Tolerations: tolerations}}
		c.Finalizers = finalizers
		return c
	}
	toleration := func(effect corev1.TaintEffect, seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists, Effect: effect, TolerationSeconds: seconds}
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "no handler", Reason: "a node needs the handler to run the pod", Object: class("", nil),
			Want: []string{"handler: Required value"},
		},
		{
			Name: "finalizer without a domain", Reason: "only the server's core kinds require a domain",
			Object: class("runc", []string{"foo"}),
		},
		{
			Name: "updated finalizer without a domain", Reason: "an update allows the same finalizers",
			Object: class("runc", []string{"foo"}), Old: class("runc", nil),
		},
		{
			Name: "other seconds", Reason: "the seconds don't distinguish tolerations",
			Object: class("runc", nil, toleration(corev1.TaintEffectNoExecute, ptr.To[int64](1)),
				toleration(corev1.TaintEffectNoExecute, ptr.To[int64](2))),
			Want: []string{`scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"NoExecute","TolerationSeconds":2}`},
		},
		{
			Name: "update", Reason: "an update is checked as a new class is, and the handler stays",
			Object: class("kata", nil, toleration("Never", nil)), Old: class("runc", nil),
			Want: []string{
				`scheduling.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
				`handler: Invalid value: null: field is immutable`,
			},
		},
		{
			Name: "update to a malformed handler", Reason: "both rules are broken", Object: class("a.b", nil), Old: class("runc", nil),
			Want: []string{`handler: Invalid value: "a.b": must not contain dots`, "handler: Invalid value: null: field is immutable"},
		},
		{
			Name: "malformed handler", Reason: "a rule is reported once", Object: class("a.b", nil),
			Want: []string{`handler: Invalid value: "a.b": must not contain dots`},
		},
	})
}

func TestRuntimeClassCreationByUpdate(t *testing.T) {
	t.Parallel()
	if !registrytest.Strategy(t, registrytest.Table(t, Group), &nodev1.RuntimeClass{}).AllowCreateOnUpdate(t.Context()) {
		t.Error("a PUT of a missing RuntimeClass doesn't create it")
	}
}
