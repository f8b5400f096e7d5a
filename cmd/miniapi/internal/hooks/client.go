// Package hooks is for the commands about runtime hooks: it reads ExtensionConfigs from a server, calls their
// extensions, and prints the answers. The client of hooks itself is in pkg/runtimehooks/hookclient.
package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/kubeconfig"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
)

// Catalog returns the hooks of Cluster API, which the commands can call.
func Catalog() (*catalog.Catalog, error) {
	c := catalog.New()
	return c, clusterapi.AddToCatalog(c)
}

// Names returns the names of the hooks of Cluster API.
func Names() []string {
	c, err := Catalog()
	if err != nil {
		return nil // the commands that use the catalog return the error
	}
	var names []string
	for _, hook := range c.Hooks() {
		names = append(names, hook.Hook)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Configs reads the ExtensionConfigs of a server, sorted by name. If the server doesn't serve the current version,
// Configs reads the version v1alpha1, which an older Cluster API serves.
func Configs(ctx context.Context, config *rest.Config) ([]runtimev1.ExtensionConfig, error) {
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	convert := func(object *unstructured.Unstructured) (*runtimev1.ExtensionConfig, error) {
		extension := &runtimev1.ExtensionConfig{}
		return extension, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, extension)
	}
	list, err := all.Resource(runtimev1.Resource()).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		list, err = all.Resource(v1alpha1.GroupVersion().WithResource(runtimev1.Resource().Resource)).List(ctx, metav1.ListOptions{})
		convert = func(object *unstructured.Unstructured) (*runtimev1.ExtensionConfig, error) {
			older := &v1alpha1.ExtensionConfig{}
			err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, older)
			return v1alpha1.ToV1Beta2(older), err
		}
	}
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s has no ExtensionConfigs: start the server with --runtime-hooks, or name the kubeconfig of a Cluster API management cluster", config.Host)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ExtensionConfigs of %s: %w", config.Host, err)
	}
	configs := make([]runtimev1.ExtensionConfig, 0, len(list.Items))
	for i := range list.Items {
		extension, err := convert(&list.Items[i])
		if err != nil {
			return nil, fmt.Errorf("ExtensionConfig %q: %w", list.Items[i].GetName(), err)
		}
		configs = append(configs, *extension)
	}
	slices.SortFunc(configs, func(a, b runtimev1.ExtensionConfig) int { return strings.Compare(a.Name, b.Name) })
	return configs, nil
}

// CallByServer requests that the server call a hook. The result served is false if the server has no path for such
// requests, because it isn't miniapi or has no runtime hooks.
func CallByServer(ctx context.Context, config *rest.Config, call hookclient.Call) (_ *hookclient.Result, served bool, err error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, false, err
	}
	body, err := json.Marshal(call)
	if err != nil {
		return nil, false, err
	}
	data, err := kubeconfig.Answer(ctx, typed.Discovery().RESTClient().Post().AbsPath(hookcalls.CallPath).Body(body))
	if err != nil {
		return nil, !apierrors.IsNotFound(err), fmt.Errorf("calling hook %q by %s: %w", call.Hook, config.Host, err)
	}
	result := &hookclient.Result{}
	if err := json.Unmarshal(data, result); err != nil {
		return nil, true, fmt.Errorf("calling hook %q by %s: the response isn't the result of a hook: %w", call.Hook, config.Host, err)
	}
	return result, true, nil
}

// NewClient returns a client that calls handlers of extensions from this process. The client calls the handlers in the
// statuses of the ExtensionConfigs. It takes the address of a service from the argument addresses, or else from the
// service's endpoints, which this machine must be able to reach. The caller must call stop at the end.
func NewClient(ctx context.Context, config *rest.Config, configs []runtimev1.ExtensionConfig, addresses services.Addresses) (_ *hookclient.Client, stop func(), err error) {
	c, err := Catalog()
	if err != nil {
		return nil, nil, err
	}
	quiet := rest.CopyConfig(config)
	quiet.WarningHandler = rest.NoWarnings{} // the deprecation of Endpoints, which the resolver reads, isn't the user's concern
	typed, err := kubernetes.NewForConfig(quiet)
	if err != nil {
		return nil, nil, err
	}
	handlers := hookregistry.New()
	if err := handlers.WarmUp(configs); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(typed, 0)
	resolver := services.NewResolver(addresses, typed, factory)
	if slices.ContainsFunc(configs, func(c runtimev1.ExtensionConfig) bool { return c.Spec.ClientConfig.Service.IsSet() }) {
		factory.StartWithContext(ctx)
		for informer, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				err = errors.Join(err, fmt.Errorf("reading the %s objects of %s, for the addresses of the extensions' services: %w", informer, config.Host, context.Cause(ctx)))
			}
		}
		if err != nil {
			cancel()
			return nil, nil, err
		}
	}
	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{Services: resolver})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	stop = func() {
		connector.Close()
		cancel()
		factory.Shutdown()
	}
	labels := func(ctx context.Context, name string) (map[string]string, error) {
		namespace, err := typed.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return namespace.Labels, nil
	}
	made, err := hookclient.New(hookclient.Options{Catalog: c, Registry: handlers, Connector: connector, NamespaceLabels: labels})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return made, stop, nil
}
