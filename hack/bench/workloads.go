//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// workloadNodes is the number of nodes of the measured server.
	workloadNodes = 50
	// largeReplicas is the number of replicas of the large Deployment.
	largeReplicas = 1000
	smallReplicas = 3
)

// measureWorkloads measures the time from the request for a Deployment until all its replicas are available, and the
// processor time of the server in this time. The first Deployment of the server isn't measured.
func measureWorkloads(ctx context.Context, t *table, binary string, rounds int) (err error) {
	p, err := startProcess(ctx, binary, "--workloads", fmt.Sprint("--nodes=", workloadNodes))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit of the client
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, _, err := p.deploy(ctx, client, "first", 1); err != nil {
		return err
	}
	for _, size := range []struct {
		row              *row
		replicas, rounds int
	}{{&workloadSmall, smallReplicas, rounds}, {&workloadLarge, largeReplicas, 3}} {
		var took, processor []float64
		for i := range size.rounds {
			available, used, err := p.deploy(ctx, client, fmt.Sprintf("replicas-%d-%d", size.replicas, i), int32(size.replicas))
			if err != nil {
				return err
			}
			took, processor = append(took, ms(available)), append(processor, ms(used))
		}
		t.miniapi.set(size.row, median(took))
		t.miniapi.setProcessor(size.row, median(processor))
	}
	return nil
}

// deploy creates a Deployment, and returns the time until it is available, and the processor time of the server until
// then.
func (p *process) deploy(ctx context.Context, client kubernetes.Interface, name string, replicas int32) (took, processor time.Duration, err error) {
	deployments := client.AppsV1().Deployments(metav1.NamespaceDefault)
	watch, err := deployments.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil {
		return 0, 0, err
	}
	defer watch.Stop()
	before, err := processorTime(p.command.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	labels := map[string]string{"app": name}
	if _, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}, metav1.CreateOptions{}); err != nil {
		return 0, 0, err
	}
	for event := range watch.ResultChan() {
		if d, ok := event.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas == replicas {
			took = time.Since(began)
			after, err := processorTime(p.command.Process.Pid)
			return took, after - before, err
		}
	}
	return 0, 0, errors.Join(fmt.Errorf("the watch of Deployment %s has ended", name), ctx.Err())
}
