package sampleapiserver

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// metricsGroup returns the API of metrics-server, with computed metrics of the nodes and pods of a cluster.
func metricsGroup(cluster kubernetes.Interface) registry.Group {
	usage := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	return registry.Group{
		Name:     metricsv1beta1.GroupName,
		Versions: []registry.Version{{Name: "v1beta1", AddToScheme: metricsv1beta1.AddToScheme}},
		Kinds: []registry.Kind{
			{
				Resource: "nodes", Object: &metricsv1beta1.NodeMetrics{}, List: &metricsv1beta1.NodeMetricsList{},
				Compute: func(registry.Dependencies) registry.ComputeFunc {
					return func(ctx context.Context) (runtime.Object, error) {
						nodes, err := cluster.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
						if err != nil {
							return nil, err
						}
						list := &metricsv1beta1.NodeMetricsList{}
						for i := range nodes.Items {
							node := metav1.ObjectMeta{Name: nodes.Items[i].Name, Labels: nodes.Items[i].Labels}
							list.Items = append(list.Items, metricsv1beta1.NodeMetrics{ObjectMeta: node, Timestamp: metav1.Now(), Usage: usage})
						}
						return list, nil
					}
				},
			},
			{
				Resource: "pods", Namespaced: true, Object: &metricsv1beta1.PodMetrics{}, List: &metricsv1beta1.PodMetricsList{},
				Compute: func(registry.Dependencies) registry.ComputeFunc {
					return func(ctx context.Context) (runtime.Object, error) {
						pods, err := cluster.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
						if err != nil {
							return nil, err
						}
						list := &metricsv1beta1.PodMetricsList{}
						for i := range pods.Items {
							pod := metav1.ObjectMeta{Name: pods.Items[i].Name, Namespace: pods.Items[i].Namespace, Labels: pods.Items[i].Labels}
							list.Items = append(list.Items, metricsv1beta1.PodMetrics{
								ObjectMeta: pod, Timestamp: metav1.Now(), Containers: []metricsv1beta1.ContainerMetrics{{Name: "main", Usage: usage}},
							})
						}
						return list, nil
					}
				},
			},
		},
	}
}

// startMetrics runs a server of the API of metrics-server behind the front until the test ends.
func startMetrics(t *testing.T, front *miniapitest.Server) {
	t.Helper()
	options := server.NewOptions()
	var err error
	if options.Table, err = registry.NewTable(metricsGroup(front.Client())); err != nil {
		t.Fatal(err)
	}
	options.Serving.BindPort, options.Behind.Kubeconfig, options.Registration.Mode = 0, front.KubeconfigFile(), "until-exit"
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- options.Run(ctx, func(*server.Server) { close(ready) }) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the server of metrics: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
}

// What kubectl top and the autoscaler of pods request works through the front: typed lists in JSON and protobuf, selectors,
// raw paths, and the front's roles.
func TestMetrics(t *testing.T) {
	front := miniapitest.Start(t, miniapitest.WithUser("stranger"), miniapitest.WithObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"zone": "a"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "two", Labels: map[string]string{"zone": "b"}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web"}}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "dns"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "dns"}}}},
	))
	startMetrics(t, front)
	ctx := t.Context()
	eventually(t, "the API of metrics is served", func(context.Context) bool {
		groups, err := front.Client().Discovery().ServerGroups()
		return err == nil && slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == metricsv1beta1.GroupName })
	})

	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		config := rest.CopyConfig(front.Config())
		config.ContentType, config.AcceptContentTypes = contentType, contentType
		client, err := metrics.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := client.MetricsV1beta1().NodeMetricses().List(ctx, metav1.ListOptions{LabelSelector: "zone=b"})
		if err != nil {
			t.Fatalf("%s: %v", contentType, err)
		}
		if len(nodes.Items) != 1 || nodes.Items[0].Name != "two" || nodes.Items[0].Usage.Cpu().MilliValue() != 250 {
			t.Errorf("%s: the metrics of the nodes in zone b: %v", contentType, nodes.Items)
		}
		pods, err := client.MetricsV1beta1().PodMetricses("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err != nil {
			t.Fatalf("%s: %v", contentType, err)
		}
		if len(pods.Items) != 1 || pods.Items[0].Name != "web" || pods.Items[0].Containers[0].Usage.Memory().Value() != 64<<20 {
			t.Errorf("%s: the metrics of the pods of the app: %v", contentType, pods.Items)
		}
		if all, err := client.MetricsV1beta1().PodMetricses("").List(ctx, metav1.ListOptions{}); err != nil || len(all.Items) != 2 {
			t.Errorf("%s: the metrics of all pods: %v, %v", contentType, all, err)
		}
		if _, err := client.MetricsV1beta1().PodMetricses("default").Get(ctx, "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: the metrics of a missing pod: want not found, got %v", contentType, err)
		}
	}

	raw, err := front.Client().Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/web").Do(ctx).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Kind, APIVersion string }
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(struct{ Kind, APIVersion string }{"PodMetrics", "metrics.k8s.io/v1beta1"}, got); diff != "" {
		t.Errorf("the raw metrics of a pod (-want +got):\n%s", diff)
	}

	stranger, err := metrics.NewForConfig(front.User("stranger"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.MetricsV1beta1().NodeMetricses().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role: %v", err)
	}
}
