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
	const later = "the webhook can't be called until there is one, or --webhook-service says where it is"
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no service %s/%s: %s", namespace, name, later)
	case apierrors.HasStatusCause(err, CauseNoServicePort):
		return fmt.Sprintf("service %s/%s has no port %d: %s", namespace, name, port, later)
	}
	return ""
}
