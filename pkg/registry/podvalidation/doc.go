// Package podvalidation checks what pods are made of: containers, volumes and claims, scheduling and
// security. Kinds of several groups have a pod's spec, a template of pods or a volume. The
// errors are kube-apiserver's: the same paths, types, messages and order.
//
// The rules that hold for pods alone, and not for templates of pods, are in package pod.
package podvalidation
