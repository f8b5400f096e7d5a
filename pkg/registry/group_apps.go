package registry

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
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
	Types:       []runtime.Object{&autoscalingv1.Scale{}},
	Priority:    17800,
	Conversions: conversion.Apps(),
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
			Defaults: []Default{
				DefaultOf(defaults.DaemonSet),
				DefaultOf(defaults.AppsV1beta2DaemonSet),
				DefaultOf(defaults.ExtensionsV1beta1DaemonSet),
			},
			PodSpec:       PodSpecOf("spec.template.spec", func(d *appsv1.DaemonSet) *corev1.PodSpec { return &d.Spec.Template.Spec }),
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
			Defaults: []Default{
				DefaultOf(defaults.Deployment),
				DefaultOf(defaults.AppsV1beta1Deployment),
				DefaultOf(defaults.AppsV1beta2Deployment),
				DefaultOf(defaults.ExtensionsV1beta1Deployment),
			},
			PodSpec:    PodSpecOf("spec.template.spec", func(d *appsv1.Deployment) *corev1.PodSpec { return &d.Spec.Template.Spec }),
			Status:     true,
			Generation: true,
			Subresources: []Subresource{ScaleSubresource(func(d *appsv1.Deployment) Scaled {
				return Scaled{&d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector}
			})},
			StatusResets:  []string{"metadata.labels"},
			OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
			Printer:       &printers.Deployment,
			Hooks:         deploymentHooks,
			Gated:         []Gate{GateOf[appsv1.Deployment]("1.35", "DeploymentReplicaSetTerminatingReplicas", "Status.TerminatingReplicas")},
		},
		{
			Resource:   "replicasets",
			ShortNames: []string{"rs"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &appsv1.ReplicaSet{}, List: &appsv1.ReplicaSetList{},
			Defaults: []Default{
				DefaultOf(defaults.ReplicaSet),
				DefaultOf(defaults.AppsV1beta2ReplicaSet),
				DefaultOf(defaults.ExtensionsV1beta1ReplicaSet),
			},
			PodSpec:    PodSpecOf("spec.template.spec", func(r *appsv1.ReplicaSet) *corev1.PodSpec { return &r.Spec.Template.Spec }),
			Status:     true,
			Generation: true,
			Subresources: []Subresource{ScaleSubresource(func(r *appsv1.ReplicaSet) Scaled {
				return Scaled{&r.Spec.Replicas, r.Status.Replicas, r.Spec.Selector}
			})},
			OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
			Printer:       &printers.ReplicaSet,
			Hooks: HooksOf[*appsv1.ReplicaSet]{
				Validate:             validation.ReplicaSet,
				ValidateUpdate:       validation.ReplicaSetUpdate,
				ValidateStatusUpdate: validation.ReplicaSetStatusUpdate,
				Warnings:             warnings.ReplicaSet,
			},
			Gated: []Gate{GateOf[appsv1.ReplicaSet]("1.35", "DeploymentReplicaSetTerminatingReplicas", "Status.TerminatingReplicas")},
		},
		{
			Resource:   "statefulsets",
			ShortNames: []string{"sts"},
			Categories: []string{"all"},
			Namespaced: true,
			Object:     &appsv1.StatefulSet{}, List: &appsv1.StatefulSetList{},
			Defaults: []Default{
				DefaultOf(defaults.StatefulSet),
				DefaultOf(defaults.AppsV1beta1StatefulSet),
				DefaultOf(defaults.AppsV1beta2StatefulSet),
			},
			PodSpec:    PodSpecOf("spec.template.spec", func(s *appsv1.StatefulSet) *corev1.PodSpec { return &s.Spec.Template.Spec }),
			Status:     true,
			Generation: true,
			Subresources: []Subresource{ScaleSubresource(func(s *appsv1.StatefulSet) Scaled {
				return Scaled{&s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector}
			})},
			OrphanThrough: []schema.GroupVersion{appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
			Printer:       &printers.StatefulSet,
			Hooks: HooksOf[*appsv1.StatefulSet]{
				Validate:             validation.StatefulSet,
				ValidateUpdate:       validation.StatefulSetUpdate,
				ValidateStatusUpdate: validation.StatefulSetStatusUpdate,
				Warnings:             warnings.StatefulSet,
			},
			Gated: []Gate{GateOf[appsv1.StatefulSet]("1.37", "MaxUnavailableStatefulSet", "Spec.UpdateStrategy.RollingUpdate.MaxUnavailable")},
		},
	},
}
