package against

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// pageSize is the number of objects that are read, and stored on the server, at a time.
const pageSize = 500

// source has the existing objects.
type source interface {
	// list returns objects of a resource, and the token of the next page, which is "" after the last one. The resource
	// may be in another version than the objects. The first page has the token "". The argument size is the largest
	// number of objects of the page.
	list(ctx context.Context, of resources.Resource, token string, size int) (page, error)
	// unserved returns the resources whose kinds a server with the resources served lacks.
	unserved(served []resources.Resource) []resources.Resource
}

// page is a part of the objects of a resource.
type page struct {
	objects []manifests.Object
	next    string
	// left is the number of objects on later pages, if it is known.
	left int
}

// largestKubeconfig is the size in bytes up to which a file is tried as a kubeconfig. To try it, all of it is decoded.
const largestKubeconfig = 1 << 20

// open opens the source with a name: the file of a kubeconfig, or a capture.
func open(name string) (source, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() || info.Size() > largestKubeconfig {
		return readCapture(name) // the loader of manifests says what is wrong
	}
	if config, err := clientcmd.LoadFromFile(name); err == nil && len(config.Clusters) > 0 {
		return openCluster(name)
	}
	return readCapture(name)
}

// cluster reads objects from a server. It makes no other requests than lists and those of discovery.
type cluster struct {
	name   string
	client dynamic.Interface
	all    []resources.Resource
}

func openCluster(kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	documents, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	lists, err := documents.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // if only some groups fail, use the others
		return nil, fmt.Errorf("kubeconfig %s: reading the resources of the cluster: %w", kubeconfig, err)
	}
	return &cluster{name: kubeconfig, client: client, all: resources.Of(lists)}, nil
}

func (c *cluster) list(ctx context.Context, of resources.Resource, token string, size int) (page, error) {
	at := slices.IndexFunc(c.all, func(r resources.Resource) bool {
		return r.GroupResource() == of.GroupResource() && slices.Contains(r.Verbs, "list")
	})
	if at < 0 {
		return page{}, nil
	}
	list, err := c.client.Resource(c.all[at].GroupVersionResource).List(ctx, metav1.ListOptions{Limit: int64(size), Continue: token})
	var expired apierrors.APIStatus
	if apierrors.IsResourceExpired(err) && errors.As(err, &expired) && expired.Status().ListMeta.Continue != "" {
		// The cluster has forgotten the time of the first page. Go on with the objects as they are now.
		return c.list(ctx, of, expired.Status().ListMeta.Continue, size)
	}
	if err != nil {
		return page{}, fmt.Errorf("reading %s from the cluster of %s: %w", of.GroupResource(), c.name, err)
	}
	p := page{next: list.GetContinue()}
	if left := list.GetRemainingItemCount(); left != nil {
		p.left = int(*left)
	}
	for i := range list.Items {
		object := &list.Items[i]
		if object.GetKind() == "" { // a server may leave the kind out in the items of a list
			object.SetGroupVersionKind(c.all[at].Kind)
		}
		p.objects = append(p.objects, manifests.Object{Unstructured: object, Source: c.name})
	}
	return p, nil
}

func (c *cluster) unserved(served []resources.Resource) []resources.Resource {
	return slices.DeleteFunc(slices.Clone(c.all), func(of resources.Resource) bool {
		return !slices.Contains(of.Verbs, "list") || slices.ContainsFunc(served, func(r resources.Resource) bool { return r.GroupResource() == of.GroupResource() })
	})
}
