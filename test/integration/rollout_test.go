package integration_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A Deployment rolls a new template out pod by pod, as pods become ready. Its conditions say how far it is, and its
// ReplicaSets and Events are the history.
func TestDeploymentRollsOut(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("deployment-controller", "replicaset-controller"))
	client := srv.Client()
	deployments := client.AppsV1().Deployments("default")
	template := podTemplate("web")
	must(deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, metav1.CreateOptions{}))(t)
	progresses := func(revision, reason string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			d, err := deployments.Get(ctx, "web", metav1.GetOptions{})
			if err != nil || d.Annotations["deployment.kubernetes.io/revision"] != revision ||
				!slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
					return c.Type == appsv1.DeploymentProgressing && c.Reason == reason
				}) {
				return fmt.Errorf("want revision %s and the reason %s, got %v, %+v, %w", revision, reason, d.Annotations, d.Status, orNone(err))
			}
			return nil
		})
	}
	old := podsOf(t, client, "web", 2)
	progresses("1", "ReplicaSetUpdated")
	ready(t, client, old...)
	progresses("1", "NewReplicaSetAvailable")

	must(deployments.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"new"}]}}}}`), metav1.PatchOptions{}))(t)
	isNew := func(p corev1.Pod) bool { return p.Spec.Containers[0].Image == "new" }
	for n := range 2 {
		pods := podsOf(t, client, "web", 3)
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return isNew(p) && len(p.Status.Conditions) == 0 })
		if i < 0 {
			t.Fatalf("want a new pod that isn't ready beside %d that are, got %v", n, pods)
		}
		progresses("2", "ReplicaSetUpdated")
		ready(t, client, pods[i])
		eventually(t, func(ctx context.Context) error {
			list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
			if left := slices.DeleteFunc(list.Items, isNew); err != nil || len(left) != 1-n {
				return fmt.Errorf("want %d old pods, got %d, %w", 1-n, len(left), orNone(err))
			}
			return nil
		})
	}
	podsOf(t, client, "web", 2)
	progresses("2", "NewReplicaSetAvailable")

	sets := must(client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{}))(t)
	for _, set := range sets.Items {
		want := map[string]int32{"1": 0, "2": 2}[set.Annotations["deployment.kubernetes.io/revision"]]
		if *set.Spec.Replicas != want {
			t.Errorf("want %d pods of revision %s, got %d", want, set.Annotations["deployment.kubernetes.io/revision"], *set.Spec.Replicas)
		}
	}
	eventually(t, func(ctx context.Context) error {
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Deployment,reason=ScalingReplicaSet"})
		if err != nil || len(events.Items) != 5 {
			return fmt.Errorf("want an Event of each of the 5 scalings, got %v, %w", events.Items, orNone(err))
		}
		return nil
	})
}
