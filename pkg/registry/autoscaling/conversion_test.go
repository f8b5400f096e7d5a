package autoscaling

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group), []registrytest.ConversionCase{
		{
			Name:     "CPU target",
			Reason:   "the CPU target of v1 becomes a metric of v2",
			Manifest: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, spec: {targetCPUUtilizationPercentage: 50, maxReplicas: 1, scaleTargetRef: {kind: k, name: x}}}`,
			To:       &autoscalingv2.HorizontalPodAutoscaler{},
			Path:     "spec.metrics",
			Want:     `[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]`,
		},
		{
			Name:     "metrics and behavior in v1",
			Reason:   "fields that v1 lacks become annotations, and the behavior has the field names of Go",
			Manifest: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 1, scaleTargetRef: {kind: k, name: x}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}, {type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 1k}}}], behavior: {scaleDown: {selectPolicy: Min, policies: [{type: Pods, value: 1, periodSeconds: 15}]}}}}`,
			To:       &autoscalingv1.HorizontalPodAutoscaler{},
			Path:     "metadata.annotations",
			Want: `
autoscaling.alpha.kubernetes.io/metrics: '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k"}}]'
autoscaling.alpha.kubernetes.io/behavior: '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}],"Tolerance":null}}'
`,
		},
		{
			Name:     "annotations in v2",
			Reason:   "the annotations become fields, the CPU target becomes the last metric, and malformed annotations are dropped",
			Manifest: `{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {annotations: {autoscaling.alpha.kubernetes.io/metrics: '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]', autoscaling.alpha.kubernetes.io/behavior: '{"ScaleUp":{"SelectPolicy":"Max"}}', autoscaling.alpha.kubernetes.io/conditions: oops}}, spec: {targetCPUUtilizationPercentage: 50, maxReplicas: 1, scaleTargetRef: {kind: k, name: x}}}`,
			To:       &autoscalingv2.HorizontalPodAutoscaler{},
			Path:     "",
			Want: `
metadata: {}
spec:
  maxReplicas: 1
  scaleTargetRef: {kind: k, name: x}
  behavior: {scaleUp: {selectPolicy: Max}}
  metrics:
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1Gi}}}
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
status: {currentMetrics: null, desiredReplicas: 0}
`,
		},
	})
}
