// Package horizontalpodautoscaler is the controller horizontal-pod-autoscaler-controller: it sets the number of replicas of
// any resource with a scale by the metrics that a HorizontalPodAutoscaler names.
//
// [New] starts the controller. It reads the metrics from the APIs metrics.k8s.io, custom.metrics.k8s.io and
// external.metrics.k8s.io, which other servers serve. An autoscaler is evaluated when its spec changes, and every 15
// seconds.
package horizontalpodautoscaler
