package registry

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// apps is what keeps pods running.
var apps = Group{
	Name: "apps",
	Versions: []Version{
		{Name: "v1", AddToScheme: appsv1.AddToScheme},
		{Name: "v1beta2", AddToScheme: appsv1beta2.AddToScheme, OnDemand: true},
		{Name: "v1beta1", AddToScheme: appsv1beta1.AddToScheme, OnDemand: true},
	},
	Types: []runtime.Object{&autoscalingv1.Scale{}},
	Kinds: []Kind{
		{
			Resource:   "controllerrevisions",
			Namespaced: true,
			Object:     &appsv1.ControllerRevision{}, List: &appsv1.ControllerRevisionList{},
			Printer: &printers.ControllerRevision,
			Hooks: HooksOf[*appsv1.ControllerRevision]{
				Validate:       validation.ControllerRevision,
				ValidateUpdate: validation.ControllerRevisionUpdate,
			},
		},
		{
			Resource:   "daemonsets",
			ShortNames: []string{"ds"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &appsv1.DaemonSet{}, List: &appsv1.DaemonSetList{},
			Status:        true,
			Generation:    true,
			OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
			Printer:       &printers.DaemonSet,
			Hooks:         daemonSetHooks,
		},
		{
			Resource:   "deployments",
			ShortNames: []string{"deploy"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &appsv1.Deployment{}, List: &appsv1.DeploymentList{},
			Status:     true,
			Generation: true,
			Subresources: []Subresource{scaleSubresource(func(d *appsv1.Deployment) scaled {
				return scaled{&d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector}
			})},
			StatusResets:  []string{"metadata.labels"},
			OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
			Printer:       &printers.Deployment,
			Hooks:         deploymentHooks,
		},
		{
			Resource:   "replicasets",
			ShortNames: []string{"rs"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &appsv1.ReplicaSet{}, List: &appsv1.ReplicaSetList{},
			Status:     true,
			Generation: true,
			Subresources: []Subresource{scaleSubresource(func(r *appsv1.ReplicaSet) scaled {
				return scaled{&r.Spec.Replicas, r.Status.Replicas, r.Spec.Selector}
			})},
			OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
			Printer:       &printers.ReplicaSet,
			Hooks: HooksOf[*appsv1.ReplicaSet]{
				Validate:             validation.ReplicaSet,
				ValidateUpdate:       validation.ReplicaSetUpdate,
				ValidateStatusUpdate: validation.ReplicaSetStatusUpdate,
				Warnings:             warnings.ReplicaSet,
			},
		},
		{
			Resource:   "statefulsets",
			ShortNames: []string{"sts"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &appsv1.StatefulSet{}, List: &appsv1.StatefulSetList{},
			Status:     true,
			Generation: true,
			Subresources: []Subresource{scaleSubresource(func(s *appsv1.StatefulSet) scaled {
				return scaled{&s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector}
			})},
			OrphanThrough: []schema.GroupVersion{appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
			Printer:       &printers.StatefulSet,
			Hooks: HooksOf[*appsv1.StatefulSet]{
				Validate:             validation.StatefulSet,
				ValidateUpdate:       validation.StatefulSetUpdate,
				ValidateStatusUpdate: validation.StatefulSetStatusUpdate,
				Warnings:             warnings.StatefulSet,
			},
		},
	},
}
