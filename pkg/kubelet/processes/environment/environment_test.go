package environment

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, line string
		want               []string
		wantError          string
	}{
		{"plain", "white space separates words", " bin/manager  --leader-elect ", []string{"bin/manager", "--leader-elect"}, ""},
		{"quotes", "a quoted word may have spaces", `sh -c 'echo "a b"' "it's"`, []string{"sh", "-c", `echo "a b"`, "it's"}, ""},
		{"backslashes", "a backslash quotes a character", `a\ b "\"" "\n" '\'`, []string{"a b", `"`, `\n`, `\`}, ""},
		{"empty word", "quotes make a word", `a ""`, []string{"a", ""}, ""},
		{"array", "no quotes are needed", `["a b", "'"]`, []string{"a b", "'"}, ""},
		{"open quote", "a word has no end", `a 'b`, nil, "the quote ' isn't closed"},
		{"open backslash", "nothing is quoted", `a \`, nil, "nothing follows"},
		{"nothing", "there is no program", " ", nil, "must begin with a program"},
		{"no strings", "words are strings", `[1]`, nil, "cannot unmarshal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Words(test.line)
			if !slices.Equal(got, test.want) || test.wantError != "" != (err != nil) || err != nil && !strings.Contains(err.Error(), test.wantError) {
				t.Errorf("%s: want %q and the error %q, got %q and %v", test.reason, test.want, test.wantError, got, err)
			}
		})
	}
}

func TestCommandOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, container string
		annotations             map[string]string
		want                    string
	}{
		{"first", "the first container is the default", "a", map[string]string{Command: "x"}, "x"},
		{"other", "the annotation is for one container", "b", map[string]string{Command: "x"}, ""},
		{"default", "kubectl's annotation names the default", "b", map[string]string{Command: "x", defaultContainer: "b"}, "x"},
		{"named", "the name counts first", "a", map[string]string{Command: "x", Command + ".a": "y"}, "y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: test.annotations}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}}
			got, ok := CommandOf(pod, test.container)
			if !ok {
				got = ""
			}
			if got != test.want || !Runs(pod) {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want, reason string }{
		{"reference", "a$(X)b", "a1b", "the variable is known"},
		{"unknown", "$(Y)", "$(Y)", "the variable is unknown"},
		{"escaped", "$$(X)", "$(X)", "$$ stands for $"},
		{"open", "$(X", "$(X", "the reference has no end"},
		{"dollar", "cost: $5 $", "cost: $5 $", "no reference"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Expand(test.text, map[string]string{"X": "1"}); got != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}

// objects are the ConfigMaps and Secrets of a namespace. Each has the key "k".
type objects struct{}

func (objects) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	if name != "known" {
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}
	return &corev1.ConfigMap{Data: map[string]string{"k": "config"}}, nil
}

func (objects) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	if name != "known" {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return &corev1.Secret{Data: map[string][]byte{"k": []byte("secret")}}, nil
}

func TestVariables(t *testing.T) {
	t.Parallel()
	reference := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	for _, test := range []struct {
		name, reason string
		container    corev1.Container
		want         string // the variable X, or the error
	}{
		{"value", "earlier variables are expanded", corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "X", Value: "$(A)$(GIVEN)"}}}, "12"},
		{"label", "a field of the pod", corev1.Container{Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['app']"}}}}}, "web"},
		{"address", "where processes listen", corev1.Container{Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}}, "127.244.0.2"},
		{"limit", "the number is rounded up", corev1.Container{
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1500m")}},
			Env:       []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}},
		}, "2"},
		{"no limit", "the node has the limit", corev1.Container{
			Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}}},
		}, "2"},
		{"secret key", "one key", corev1.Container{Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference("known"), Key: "k"}}}}}, "secret"},
		{"env from", "all keys, with a prefix", corev1.Container{EnvFrom: []corev1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference("known")}}}, Env: []corev1.EnvVar{{Name: "X", Value: "$(P_k)"}}}, "config"},
		{"missing key", "the kubelet's error", corev1.Container{Env: []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: reference("known"), Key: "z"}}}}}, "couldn't find key z in ConfigMap ns/known"},
		{"missing object", "the kubelet's error", corev1.Container{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference("gone")}}}}, `secrets "gone" not found`},
		{"optional object", "it needn't exist", corev1.Container{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference("gone"), Optional: new(true)}}}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pod := Pod{
				Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", Labels: map[string]string{"app": "web"}}},
				IPs: []string{"127.244.0.2"}, Allocatable: corev1.ResourceList{"memory": resource.MustParse("2Mi")},
			}
			got, err := Variables(t.Context(), objects{}, pod, &test.container, map[string]string{"GIVEN": "2"})
			text := got["X"]
			if err != nil {
				text = err.Error()
			}
			if text != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, text)
			}
		})
	}
}

func TestExpandPath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want, wantError, reason string }{
		{"variable", "a/$(X)", "a/1", "", "a pod has a folder of its own"},
		{"missing", "$(Z)/$(Y)/$(EMPTY)", "", "missing value for EMPTY, Y, Z", "the kubelet's error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := ExpandPath(test.text, map[string]string{"X": "1", "EMPTY": ""})
			if got != test.want || test.wantError != "" && (err == nil || err.Error() != test.wantError) {
				t.Errorf("%s: want %q and the error %q, got %q and %v", test.reason, test.want, test.wantError, got, err)
			}
		})
	}
}

func TestOfService(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		spec         corev1.ServiceSpec
		want         []string
	}{
		{"headless", "there is no address", corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}}, nil},
		{"ports", "the first port has the short names, and each port with a name has one more", corev1.ServiceSpec{ClusterIP: "10.0.0.7", Ports: []corev1.ServicePort{
			{Port: 80}, {Name: "dns-udp", Port: 53, Protocol: corev1.ProtocolUDP},
		}}, []string{
			"MY_WEB_PORT=tcp://10.0.0.7:80",
			"MY_WEB_PORT_53_UDP=udp://10.0.0.7:53", "MY_WEB_PORT_53_UDP_ADDR=10.0.0.7", "MY_WEB_PORT_53_UDP_PORT=53", "MY_WEB_PORT_53_UDP_PROTO=udp",
			"MY_WEB_PORT_80_TCP=tcp://10.0.0.7:80", "MY_WEB_PORT_80_TCP_ADDR=10.0.0.7", "MY_WEB_PORT_80_TCP_PORT=80", "MY_WEB_PORT_80_TCP_PROTO=tcp",
			"MY_WEB_SERVICE_HOST=10.0.0.7", "MY_WEB_SERVICE_PORT=80", "MY_WEB_SERVICE_PORT_DNS_UDP=53",
		}},
		{"IPv6", "an address and a port are joined", corev1.ServiceSpec{ClusterIP: "fd00::7", Ports: []corev1.ServicePort{{Port: 80}}}, []string{
			"MY_WEB_PORT=tcp://[fd00::7]:80",
			"MY_WEB_PORT_80_TCP=tcp://[fd00::7]:80", "MY_WEB_PORT_80_TCP_ADDR=fd00::7", "MY_WEB_PORT_80_TCP_PORT=80", "MY_WEB_PORT_80_TCP_PROTO=tcp",
			"MY_WEB_SERVICE_HOST=fd00::7", "MY_WEB_SERVICE_PORT=80",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := List(OfService(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-web"}, Spec: test.spec}))
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}
