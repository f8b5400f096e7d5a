package environment

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Objects reads the ConfigMaps and Secrets of a namespace.
type Objects interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
}

// Variables returns the environment variables of a container. The given variables come before its own. Errors are those
// of the kubelet.
func Variables(ctx context.Context, objects Objects, pod Pod, container *corev1.Container, given map[string]string) (map[string]string, error) {
	all := maps.Clone(given)
	for _, from := range container.EnvFrom {
		values, err := source(ctx, objects, pod.Namespace, from)
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			all[from.Prefix+key] = value
		}
	}
	for _, variable := range container.Env {
		value, ok, err := valueOf(ctx, objects, pod, container, variable, all)
		if err != nil {
			return nil, err
		}
		if ok {
			all[variable.Name] = value
		}
	}
	return all, nil
}

// List returns variables in the form NAME=VALUE, in the order of their names.
func List(variables map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		all = append(all, name+"="+variables[name])
	}
	return all
}

// source returns the variables of an element of envFrom.
func source(ctx context.Context, objects Objects, namespace string, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.ConfigMapRef != nil:
		found, err := objects.ConfigMap(ctx, namespace, from.ConfigMapRef.Name)
		if missing(err, from.ConfigMapRef.Optional) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return found.Data, nil
	case from.SecretRef != nil:
		found, err := objects.Secret(ctx, namespace, from.SecretRef.Name)
		if missing(err, from.SecretRef.Optional) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		values := map[string]string{}
		for key, value := range found.Data {
			values[key] = string(value)
		}
		return values, nil
	}
	return nil, nil
}

// missing reports whether an object doesn't exist and needn't exist.
func missing(err error, optional *bool) bool {
	return apierrors.IsNotFound(err) && optional != nil && *optional
}

// valueOf returns the value of a variable, or false if its optional source doesn't exist.
func valueOf(ctx context.Context, objects Objects, pod Pod, container *corev1.Container, variable corev1.EnvVar, before map[string]string) (string, bool, error) {
	from := variable.ValueFrom
	switch {
	case from == nil:
		return Expand(variable.Value, before), true, nil
	case from.FieldRef != nil:
		value, err := pod.Field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err := pod.Resource(from.ResourceFieldRef, container)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		found, err := objects.ConfigMap(ctx, pod.Namespace, ref.Name)
		if err != nil {
			return "", false, unless(missing(err, ref.Optional), err)
		}
		value, ok := found.Data[ref.Key]
		return value, ok, keyError(ok, ref.Optional, ref.Key, "ConfigMap", pod.Namespace, ref.Name)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		found, err := objects.Secret(ctx, pod.Namespace, ref.Name)
		if err != nil {
			return "", false, unless(missing(err, ref.Optional), err)
		}
		value, ok := found.Data[ref.Key]
		return string(value), ok, keyError(ok, ref.Optional, ref.Key, "Secret", pod.Namespace, ref.Name)
	}
	return "", false, fmt.Errorf("variable %s: valueFrom must be fieldRef, resourceFieldRef, configMapKeyRef or secretKeyRef", variable.Name)
}

func unless(ignored bool, err error) error {
	if ignored {
		return nil
	}
	return err
}

func keyError(found bool, optional *bool, key, kind, namespace, name string) error {
	if found || optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("couldn't find key %v in %s %v/%v", key, kind, namespace, name)
}
