package registry

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// rbac is who may do what.
var rbac = Group{
	Name: "rbac.authorization.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: rbacv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: rbacv1beta1.AddToScheme, OnDemand: true},
		{Name: "v1alpha1", AddToScheme: rbacv1alpha1.AddToScheme, OnDemand: true},
	},
	Priority:    17000,
	Conversions: conversion.RBAC(),
	Kinds: []Kind{
		{
			Resource:   "roles",
			Namespaced: true,
			Object:     &rbacv1.Role{}, List: &rbacv1.RoleList{},
			CreateOnUpdate: true,
			Storage:        newGuarded,
			Hooks: HooksOf[*rbacv1.Role]{
				Validate:       validation.Role,
				ValidateUpdate: validation.RoleUpdate,
			},
		},
		{
			Resource:   "rolebindings",
			Namespaced: true,
			Object:     &rbacv1.RoleBinding{}, List: &rbacv1.RoleBindingList{},
			Defaults: []Default{
				DefaultOf(defaults.RoleBinding),
				DefaultOf(defaults.RBACV1beta1RoleBinding),
				DefaultOf(defaults.RBACV1alpha1RoleBinding),
			},
			CreateOnUpdate: true,
			Storage:        newGuarded,
			Printer:        &printers.RoleBinding,
			Hooks: HooksOf[*rbacv1.RoleBinding]{
				Validate:       validation.RoleBinding,
				ValidateUpdate: validation.RoleBindingUpdate,
			},
		},
		{
			Resource: "clusterroles",
			Object:   &rbacv1.ClusterRole{}, List: &rbacv1.ClusterRoleList{},
			CreateOnUpdate: true,
			Storage:        newGuarded,
			Hooks: HooksOf[*rbacv1.ClusterRole]{
				Validate:       validation.ClusterRole,
				ValidateUpdate: validation.ClusterRoleUpdate,
			},
		},
		{
			Resource: "clusterrolebindings",
			Object:   &rbacv1.ClusterRoleBinding{}, List: &rbacv1.ClusterRoleBindingList{},
			Defaults: []Default{
				DefaultOf(defaults.ClusterRoleBinding),
				DefaultOf(defaults.RBACV1beta1ClusterRoleBinding),
				DefaultOf(defaults.RBACV1alpha1ClusterRoleBinding),
			},
			CreateOnUpdate: true,
			Storage:        newGuarded,
			Printer:        &printers.ClusterRoleBinding,
			Hooks: HooksOf[*rbacv1.ClusterRoleBinding]{
				Validate:       validation.ClusterRoleBinding,
				ValidateUpdate: validation.ClusterRoleBindingUpdate,
			},
		},
	},
}
