package integration_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// deploymentOf returns a deployment whose pods have stages.
func deploymentOf(name string, replicas int32, stages string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	template := podOn("", stages)
	template.Labels, template.Spec.NodeName = labels, ""
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: template.ObjectMeta, Spec: template.Spec},
		},
	}
}

func eventuallyAvailable(t *testing.T, client kubernetes.Interface, name string, want int32) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		found, err := client.AppsV1().Deployments("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && (found.Status.AvailableReplicas != want || found.Status.ObservedGeneration != found.Generation) {
			err = fmt.Errorf("want %d available replicas, got %+v", want, found.Status)
		}
		return err
	})
}

// A Deployment becomes available, and a Job completes. After a reset, the server does the same again.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithNodes(3))
	client := srv.Client()
	deployments, jobs := client.AppsV1().Deployments("default"), client.BatchV1().Jobs("default")
	for range 3 {
		must(deployments.Create(t.Context(), deploymentOf("web", 3, ""), metav1.CreateOptions{}))(t)
		must(jobs.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Spec: simpleJob}, metav1.CreateOptions{}))(t)
		eventuallyAvailable(t, client, "web", 3)
		eventually(t, func(ctx context.Context) error {
			job, err := jobs.Get(ctx, "once", metav1.GetOptions{})
			if err == nil && job.Status.Succeeded != 1 {
				err = fmt.Errorf("want the job to succeed, got %+v", job.Status)
			}
			return err
		})
		ok(t, srv.Reset())
		if pods := must(client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}))(t); len(pods.Items) > 0 {
			t.Errorf("want no pod after a reset, got %d", len(pods.Items))
		}
	}
}

// A pod that fails is replaced, and the template of a Deployment chooses the stages of its pods.
func TestWorkloadsWhosePodsFail(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	client := srv.Client()
	must(client.AppsV1().Deployments("default").Create(t.Context(), deploymentOf("web", 2, ""), metav1.CreateOptions{}))(t)
	must(client.AppsV1().Deployments("default").Create(t.Context(), deploymentOf("never", 1, "readiness-failure"), metav1.CreateOptions{}))(t)
	eventuallyAvailable(t, client, "web", 2)
	failed := must(client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"}))(t).Items[0]
	ok(t, srv.Pods().Fail("default/"+failed.Name, "Evicted"))
	eventually(t, func(ctx context.Context) error {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			return err
		}
		ready := 0
		for _, pod := range pods.Items {
			if containersOf(&pod) == "Running running/0 ready" {
				ready++
			}
		}
		if ready != 2 {
			return fmt.Errorf("want another pod in place of the failed one, got %d ready", ready)
		}
		return nil
	})
	eventually(t, func(ctx context.Context) error {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=never"})
		if err == nil && (len(pods.Items) != 1 || containersOf(&pods.Items[0]) != "Running running/0") {
			err = fmt.Errorf("want a pod that runs and isn't ready, got %d", len(pods.Items))
		}
		return err
	})
	eventuallyAvailable(t, client, "never", 0)
}
