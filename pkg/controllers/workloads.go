package controllers

import (
	"github.com/miniapi-dev/miniapi/pkg/controllers/cronjob"
	"github.com/miniapi-dev/miniapi/pkg/controllers/daemonset"
	"github.com/miniapi-dev/miniapi/pkg/controllers/deployment"
	"github.com/miniapi-dev/miniapi/pkg/controllers/endpoints"
	"github.com/miniapi-dev/miniapi/pkg/controllers/endpointslice"
	"github.com/miniapi-dev/miniapi/pkg/controllers/endpointslicemirroring"
	"github.com/miniapi-dev/miniapi/pkg/controllers/ephemeralvolume"
	"github.com/miniapi-dev/miniapi/pkg/controllers/horizontalpodautoscaler"
	"github.com/miniapi-dev/miniapi/pkg/controllers/job"
	"github.com/miniapi-dev/miniapi/pkg/controllers/loadbalancer"
	"github.com/miniapi-dev/miniapi/pkg/controllers/nodelifecycle"
	"github.com/miniapi-dev/miniapi/pkg/controllers/nodettl"
	"github.com/miniapi-dev/miniapi/pkg/controllers/persistentvolume"
	"github.com/miniapi-dev/miniapi/pkg/controllers/replicaset"
	"github.com/miniapi-dev/miniapi/pkg/controllers/statefulset"
	"github.com/miniapi-dev/miniapi/pkg/controllers/tainteviction"
	"github.com/miniapi-dev/miniapi/pkg/controllers/ttlafterfinished"
	"github.com/miniapi-dev/miniapi/pkg/controllers/volumeprotection"
)

// workloads are the controllers that give workloads their pods, and what pods need.
var workloads = []controller{
	{Workloads, "deployment-controller", deployment.Account, "deployment", addDeployments},
	{Workloads, "replicaset-controller", replicaset.Account, "replicaset", addReplicaSets},
	{Workloads, "replicationcontroller-controller", replicaset.ReplicationAccount, "replicationcontroller", addReplicationControllers},
	{Workloads, "statefulset-controller", statefulset.Account, "statefulset", addStatefulSets},
	{Workloads, "daemonset-controller", daemonset.Account, "daemonset", addDaemonSets},
	{Workloads, "job-controller", job.Account, "job", addJob},
	{Workloads, "cronjob-controller", cronjob.Account, "cronjob", addCronJob},
	{Workloads, "horizontal-pod-autoscaler-controller", horizontalpodautoscaler.Account, "horizontalpodautoscaling", addHorizontalPodAutoscaler},
	{Workloads, "ttl-after-finished-controller", ttlafterfinished.Account, "ttl-after-finished", addTTLAfterFinished},
	{Workloads, "endpoints-controller", endpoints.Account, "endpoint", addEndpoints},
	{Workloads, "endpointslice-controller", endpointslice.Account, "endpointslice", addEndpointSlices},
	{Workloads, "endpointslice-mirroring-controller", endpointslicemirroring.Account, "endpointslicemirroring", addEndpointSliceMirroring},
	{Workloads, "service-lb-controller", loadbalancer.Account, "service", addLoadBalancers},
	{Workloads, "persistentvolume-binder-controller", persistentvolume.Account, "persistentvolume-binder", addVolumes},
	{Workloads, "ephemeral-volume-controller", ephemeralvolume.Account, "ephemeral-volume", addEphemeralVolumes},
	{Workloads, "persistentvolumeclaim-protection-controller", volumeprotection.ClaimAccount, "pvc-protection", addClaimProtection},
	{Workloads, "persistentvolume-protection-controller", volumeprotection.VolumeAccount, "pv-protection", addVolumeProtection},
	{Workloads, "node-lifecycle-controller", nodelifecycle.Account, "nodelifecycle", addNodeLifecycle},
	{Workloads, "taint-eviction-controller", tainteviction.Account, "taint-eviction", addTaintEviction},
	{Workloads, "ttl-controller", nodettl.Account, "ttl", addNodeTTL},
}
