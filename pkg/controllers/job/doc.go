// Package job is the controller job-controller: it runs the pods of Jobs to their completions, and counts each of them
// once.
//
// [New] starts the controller. A pod of a Job has a finalizer until the Job's status counts the pod. The status first
// lists the UIDs of ended pods, then their finalizers are removed, and then the numbers of succeeded and failed pods grow.
// So a controller that is interrupted at any time counts no pod twice, and misses none.
//
// Unlike in kube-controller-manager, there is no delay of a second between the change of a pod and the work on its Job.
package job
