package policycheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// webhooks runs the cases of the suite for webhooks that judge configurations alone. A configuration that the server
// refuses isn't judged.
func (c *checker) webhooks(ctx context.Context) error {
	var objects []*unstructured.Unstructured
	for _, object := range c.objects {
		objects = append(objects, object.Unstructured)
	}
	cases := slices.DeleteFunc(webhooksuite.Cases(), func(one webhooksuite.Case) bool { return !strings.HasPrefix(one.ID, "config.") })
	for i, object := range c.objects {
		if !webhooksuite.IsConfiguration(object.GroupVersionKind()) || c.isRefused(i) {
			continue
		}
		// The other objects have the labels of namespaces.
		all, err := webhooksuite.ReadConfigurations(slices.DeleteFunc(slices.Clone(objects), func(other *unstructured.Unstructured) bool {
			return webhooksuite.IsConfiguration(other.GroupVersionKind()) && other != object.Unstructured
		}))
		if err != nil {
			return err
		}
		// No case that judges configurations calls a webhook.
		hooks, err := webhooksuite.HooksOf(all, func(admissionregistrationv1.WebhookClientConfig) (webhooksuite.Endpoint, error) {
			return webhooksuite.Endpoint{}, nil
		})
		if err != nil {
			return err
		}
		for n := range hooks {
			suite := &webhooksuite.Suite{Hooks: hooks[n : n+1]}
			for _, one := range cases {
				findings, err := one.Run(ctx, suite)
				if err != nil && !errors.As(err, new(webhooksuite.Skipped)) {
					return err
				}
				for _, found := range findings {
					c.addAs(string(found.Level), i, fmt.Sprintf("webhooks[%d]%s", n, fieldsOfCases[one.ID]), found.Seen+": "+one.Advice)
				}
			}
		}
	}
	return nil
}

// applyServices applies the services among objects, with their namespaces, because the server warns about webhooks whose service
// it lacks. A service that the server refuses is left out.
func applyServices(ctx context.Context, config *rest.Config, objects []manifests.Object) error {
	for _, object := range objects {
		if object.GetKind() != "Service" {
			continue
		}
		namespace := &unstructured.Unstructured{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		namespace.SetName(cmp.Or(object.GetNamespace(), metav1.NamespaceDefault))
		err := manifests.Applier{Config: config}.Apply(ctx, []manifests.Object{{Unstructured: namespace, Source: object.Source}, object})
		if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
			return err
		}
	}
	return nil
}

// fieldsOfCases are the fields of a webhook that cases judge.
var fieldsOfCases = map[string]string{
	"config.sideEffects": ".sideEffects", "config.reviewVersions": ".admissionReviewVersions", "config.name": ".name",
	"config.clientConfig": ".clientConfig", "config.caBundle": ".clientConfig.caBundle", "config.timeout": ".timeoutSeconds",
	"config.ignoreMutation": ".failurePolicy", "config.scope": ".rules", "config.kubeSystem": ".namespaceSelector",
	"config.ownNamespace": ".namespaceSelector", "config.ownDeletion": ".namespaceSelector", "config.controlPlane": ".rules",
	"config.matchPolicy": ".matchPolicy", "config.stableVersions": ".rules", "config.exempt": ".rules", "config.rules": ".rules",
}
