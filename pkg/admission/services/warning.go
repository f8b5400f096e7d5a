package services

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/util/webhook"
)

// Warning returns a warning if the service of a webhook, or its port, is missing, so that the webhook can't be
// called. Otherwise it returns "".
func Warning(resolver webhook.ServiceResolver, namespace, name string, port int32) string {
	_, err := resolver.ResolveEndpoint(namespace, name, port)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no service %s/%s: create the service, or give an address by --webhook-service", namespace, name)
	case apierrors.HasStatusCause(err, CauseNoServicePort):
		return fmt.Sprintf("service %s/%s has no port %d: add the port, or give an address by --webhook-service", namespace, name, port)
	}
	return ""
}
