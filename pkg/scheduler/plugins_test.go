package scheduler_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func selectingNodes(labels map[string]string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = labels }
}

// named returns a required node affinity with a term for each node.
func named(nodes ...string) func(*corev1.Pod) {
	var terms []corev1.NodeSelectorTerm
	for _, node := range nodes {
		terms = append(terms, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}})
	}
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

func hostPort(ip string, port int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: port, HostIP: ip, Protocol: corev1.ProtocolTCP}}
	}
}

func near(topology, other string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selecting(other), TopologyKey: topology}},
		}}
	}
}

func awayFrom(topology, other string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selecting(other), TopologyKey: topology}},
		}}
	}
}

func inNamespaces(selector *metav1.LabelSelector, change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		change(pod)
		if a := pod.Spec.Affinity.PodAffinity; a != nil {
			a.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = selector
		}
		if a := pod.Spec.Affinity.PodAntiAffinity; a != nil {
			a.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = selector
		}
	}
}

func in(namespace string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Namespace = namespace }
}

func spread(topology, other string, changes ...func(*corev1.TopologySpreadConstraint)) func(*corev1.Pod) {
	constraint := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selecting(other),
	}
	for _, change := range changes {
		change(&constraint)
	}
	return func(pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
	}
}

func extended(amount string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Status.Allocatable["example.com/gpu"] = resource.MustParse(amount) }
}

func room(pods string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(pods) }
}

func sidecar(pod *corev1.Pod) {
	pod.Spec.InitContainers = []corev1.Container{{
		Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}},
	}}
}

func overhead(pod *corev1.Pod) {
	pod.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
}

func ofPod(pod *corev1.Pod) {
	pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5")}}
}

func disk(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "d"}}}}
}

// restartsAll needs a feature of the kubelet.
func restartsAll(pod *corev1.Pod) {
	pod.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
}

func declaring(features ...string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Status.DeclaredFeatures = features }
}

const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname

// Each plugin refuses the nodes that kube-scheduler's plugin refuses, with the same words.
func TestFilters(t *testing.T) {
	t.Parallel()
	n1, n2, n3 := newNode("n1", inZone("a")), newNode("n2", inZone("b")), newNode("n3")
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"kind": "team"}}}
	ofTeams := &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "team"}}
	const conflict = "0/2 nodes are available: pod affinity terms conflict. not found"
	one := func(filter, preemption string) string {
		return "0/1 nodes are available: 1 " + filter + ". preemption: 0/1 nodes are available: 1 " + preemption + "."
	}
	const useless, noVictims = "Preemption is not helpful for scheduling", "No preemption victims found for incoming pod"
	for _, test := range []struct {
		name, reason string
		objects      []runtime.Object
		pod          *corev1.Pod
		node, want   string
	}{
		{"no node", "there is nothing to choose from", nil, newPod("p"), "", "no nodes available to schedule pods"},
		{"any", "the first of equal nodes", []runtime.Object{n2, n1}, newPod("p"), "n1", ""},
		{"CPU", "no deletion makes the node larger", []runtime.Object{n1}, newPod("p", cpu("5")), "", one("Insufficient cpu", useless)},
		{"CPU taken", "the other pod is as important", []runtime.Object{n1, newPod("q", cpu("3"), on("n1"))}, newPod("p", cpu("2")), "", one("Insufficient cpu", noVictims)},
		{"two resources", "all reasons count", []runtime.Object{n1}, newPod("p", requests(map[corev1.ResourceName]string{"cpu": "5", "memory": "9Gi"})),
			"", "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
		{"disk", "a pod of the node has the disk", []runtime.Object{n1, newPod("q", disk, on("n1"))}, newPod("p", disk), "", one("node(s) had no available disk", noVictims)},
		{"disk elsewhere", "a pod of the other node has the disk", []runtime.Object{n1, n2, newPod("q", disk, on("n1"))}, newPod("p", disk), "n2", ""},
		{"storage", "ephemeral storage is a resource", []runtime.Object{n1}, newPod("p", requests(map[corev1.ResourceName]string{"ephemeral-storage": "11Gi"})),
			"", one("Insufficient ephemeral-storage", useless)},
		{"extended", "the node has one", []runtime.Object{newNode("n1", extended("1"))}, newPod("p", requests(map[corev1.ResourceName]string{"example.com/gpu": "2"})),
			"", one("Insufficient example.com/gpu", useless)},
		{"pods", "the node takes one pod", []runtime.Object{newNode("n1", room("1")), newPod("q", on("n1"))}, newPod("p"), "", one("Too many pods", noVictims)},
		{"ended pod", "it needs no resources", []runtime.Object{n1, newPod("q", cpu("4"), on("n1"), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })},
			newPod("p", cpu("4")), "n1", ""},
		{"sidecar", "it runs beside the containers", []runtime.Object{n1}, newPod("p", cpu("3"), sidecar), "", one("Insufficient cpu", useless)},
		{"overhead", "it is added to the containers' requests", []runtime.Object{n1}, newPod("p", cpu("3"), overhead), "", one("Insufficient cpu", useless)},
		{"resources of the pod", "they take the place of the containers' requests", []runtime.Object{n1}, newPod("p", cpu("1"), ofPod), "", one("Insufficient cpu", useless)},
		{"taint", "the pod doesn't tolerate it", []runtime.Object{newNode("n1", tainted("k", corev1.TaintEffectNoSchedule))}, newPod("p"), "", one("node(s) had untolerated taint(s)", useless)},
		{"tolerated taint", "the pod tolerates it", []runtime.Object{newNode("n1", tainted("k", corev1.TaintEffectNoExecute))}, newPod("p", tolerating("k")), "n1", ""},
		{"preferred taint", "another node hasn't got the taint", []runtime.Object{newNode("n1", tainted("k", corev1.TaintEffectPreferNoSchedule)), n2}, newPod("p"), "n2", ""},
		{"unschedulable", "a user has cordoned the node", []runtime.Object{newNode("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true })}, newPod("p"),
			"", one("node(s) were unschedulable", useless)},
		{"selector", "the label differs", []runtime.Object{n1}, newPod("p", selectingNodes(map[string]string{zone: "b"})), "", one("node(s) didn't match Pod's node affinity/selector", useless)},
		{"node affinity by name", "the other nodes are out of the question", []runtime.Object{n1, n2}, newPod("p", named("n1"), cpu("5")),
			"", "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
		{"conflicting names", "a node has one name", []runtime.Object{n1, n2}, newPod("p", named("n1"), func(pod *corev1.Pod) {
			term := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
			term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"n2"}})
		}), "", conflict},
		{"feature", "the kubelet can't do what the pod needs", []runtime.Object{newNode("n1", declaring("A"))}, newPod("p", restartsAll),
			"", one("node(s) didn't match Pod's required features", useless)},
		{"declared feature", "the kubelet can do it", []runtime.Object{n1, newNode("n2", declaring("A", "RestartAllContainersOnContainerExits"))}, newPod("p", restartsAll), "n2", ""},
		{"port", "another pod has it", []runtime.Object{n1, newPod("q", hostPort("", 8080), on("n1"))}, newPod("p", hostPort("127.0.0.1", 8080)),
			"", one("node(s) didn't have free ports for the requested pod ports", noVictims)},
		{"port of another address", "both addresses have the port", []runtime.Object{n1, newPod("q", hostPort("127.0.0.1", 8080), on("n1"))}, newPod("p", hostPort("127.0.0.2", 8080)), "n1", ""},
		{"affinity", "the other pod is in zone b", []runtime.Object{n1, n2, newPod("q", app("x"), on("n2"))}, newPod("p", near(zone, "x")), "n2", ""},
		{"affinity to nothing", "no such pod exists", []runtime.Object{n1}, newPod("p", near(zone, "x")), "", one("node(s) didn't match pod affinity rules", useless)},
		{"affinity to itself", "it is the first of its kind", []runtime.Object{n3, n1}, newPod("p", app("x"), near(zone, "x")), "n1", ""},
		{"affinity to a pod of a namespace", "the selector selects the namespace", []runtime.Object{team, n1, n2, newPod("q", in("team"), app("x"), on("n2"))},
			newPod("p", inNamespaces(ofTeams, near(zone, "x"))), "n2", ""},
		{"affinity to a pod of another namespace", "the term is about the pod's own namespace", []runtime.Object{team, n1, newPod("q", in("team"), app("x"), on("n1"))},
			newPod("p", near(zone, "x")), "", one("node(s) didn't match pod affinity rules", useless)},
		{"anti-affinity", "the other pod is in zone a", []runtime.Object{n1, n2, newPod("q", app("x"), on("n1"))}, newPod("p", awayFrom(zone, "x")), "n2", ""},
		{"anti-affinity everywhere", "each node has such a pod", []runtime.Object{n1, newPod("q", app("x"), on("n1"))}, newPod("p", awayFrom(host, "x")),
			"", one("node(s) didn't match pod anti-affinity rules", noVictims)},
		{"anti-affinity of another pod", "the pod matches its term", []runtime.Object{n1, newPod("q", awayFrom(host, "x"), on("n1"))}, newPod("p", app("x")),
			"", one("node(s) didn't satisfy existing pods anti-affinity rules", noVictims)},
		{"anti-affinity of a pod of another namespace", "its term selects the pod's namespace", []runtime.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault, Labels: map[string]string{"kind": "team"}}},
			n1, newPod("q", in("team"), inNamespaces(ofTeams, awayFrom(host, "x")), on("n1")),
		}, newPod("p", app("x")), "", one("node(s) didn't satisfy existing pods anti-affinity rules", noVictims)},
		{"spread", "zone a has one pod more", []runtime.Object{n1, n2, newPod("q", app("x"), on("n1"))}, newPod("p", app("x"), spread(zone, "x")), "n2", ""},
		{"spread without a pod of its own", "the pod doesn't count", []runtime.Object{n1, newNode("n2", inZone("b"), tainted("k", corev1.TaintEffectNoSchedule)), newPod("q", app("x"), on("n1"))},
			newPod("p", spread(zone, "x")), "n1", ""},
		{"spread, terminating", "the other pod is being deleted", []runtime.Object{n1, newNode("n2", inZone("b"), tainted("k", corev1.TaintEffectNoSchedule)),
			newPod("q", app("x"), on("n1"), func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) })}, newPod("p", app("x"), spread(zone, "x")), "n1", ""},
		{"spread over too few domains", "the fewest pods count as 0", []runtime.Object{n1, n2, newPod("q", app("x"), on("n1")), newPod("r", app("x"), on("n2"))},
			newPod("p", app("x"), spread(zone, "x", func(c *corev1.TopologySpreadConstraint) { c.MinDomains = new(int32(3)) })),
			"", "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."},
		{"spread, no label", "the node is in no domain", []runtime.Object{n3}, newPod("p", app("x"), spread(zone, "x")),
			"", one("node(s) didn't match pod topology spread constraints (missing required label)", useless)},
		{"spread among selected nodes", "the other zone doesn't count", []runtime.Object{n1, n2, newPod("q", app("x"), on("n1"))},
			newPod("p", app("x"), spread(zone, "x"), selectingNodes(map[string]string{zone: "a"})), "n1", ""},
		{"spread among all nodes", "the other zone counts, too", []runtime.Object{n1, n2, newPod("q", app("x"), on("n1"))},
			newPod("p", app("x"), selectingNodes(map[string]string{zone: "a"}), spread(zone, "x", func(c *corev1.TopologySpreadConstraint) {
				c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
			})), "", "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod topology spread constraints. " +
				"preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."},
		{"spread, tainted", "the pod can't get the other zone", []runtime.Object{n1, newNode("n2", inZone("b"), tainted("k", corev1.TaintEffectNoSchedule)), newPod("q", app("x"), on("n1"))},
			newPod("p", app("x"), spread(zone, "x", func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor) })), "n1", ""},
		{"spread by a label's value", "the pod has another revision", []runtime.Object{n1, n2, newPod("q", labelled(map[string]string{"app": "x", "revision": "1"}), on("n1"))},
			newPod("p", labelled(map[string]string{"app": "x", "revision": "2"}), selectingNodes(map[string]string{zone: "a"}), spread(zone, "x", func(c *corev1.TopologySpreadConstraint) {
				c.NodeAffinityPolicy, c.MatchLabelKeys = new(corev1.NodeInclusionPolicyIgnore), []string{"revision"}
			})), "n1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, append([]runtime.Object{test.pod}, test.objects...)...)
			node, condition := w.decided(t.Context(), t, "p")
			if node != test.node {
				t.Errorf("%s: want node %q, got %q, %v", test.reason, test.node, node, condition)
			}
			if test.node == "" && (condition == nil || condition.Reason != corev1.PodReasonUnschedulable || condition.Message != test.want) {
				t.Errorf("%s: want a condition with the message %q, got %v", test.reason, test.want, condition)
			}
		})
	}
}
