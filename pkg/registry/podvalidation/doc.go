// Package podvalidation checks the parts of pods: containers, volumes and claims, scheduling and security. Kinds of
// several groups use it for a pod's spec, a pod template or a volume. The errors are kube-apiserver's: the same
// paths, types, messages and order.
//
// Rules that apply only to pods, and not to pod templates, are in package core/pod.
package podvalidation
