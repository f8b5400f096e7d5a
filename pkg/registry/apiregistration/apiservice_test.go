package apiregistration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestAPIServiceColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "local", Reason: "an API without a service is served by this server",
			Object: &apiregistrationv1.APIService{ObjectMeta: registrytest.MonthOld("x"), Status: apiregistrationv1.APIServiceStatus{
				Conditions: []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Reason: "Local"}},
			}},
			Want: []any{"x", "Local", "True", "30d"},
		},
		{
			Name: "unavailable", Reason: "the cell shows why the API is not available",
			Object: &apiregistrationv1.APIService{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec:       apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "n", Name: "s"}},
				Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
					{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: "ServiceNotFound"},
				}},
			},
			Want: []any{"x", "n/s", "False (ServiceNotFound)", "30d"},
		},
		{
			Name: "not checked", Reason: "the availability is unknown without a condition",
			Object: &apiregistrationv1.APIService{
				ObjectMeta: registrytest.MonthOld("x"),
				Spec:       apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "n", Name: "s"}},
			},
			Want: []any{"x", "n/s", "Unknown", "30d"},
		},
	})
}

func TestAPIServiceErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "create", Reason: "the name consists of version and group, and a CA bundle contradicts insecureSkipTLSVerify",
			Object: &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1"}, Spec: apiregistrationv1.APIServiceSpec{
				Group: "example.com", Version: "v1", GroupPriorityMinimum: 20001, VersionPriority: 1, InsecureSkipTLSVerify: true,
				CABundle: []byte("ca"), Service: &apiregistrationv1.ServiceReference{Name: "s", Port: ptr.To[int32](443)},
			}},
			Want: []string{
				"metadata.name: Invalid value: \"v1\": must be `spec.version+\".\"+spec.group`: \"v1.example.com\"",
				`spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000`,
				`spec.service.namespace: Required value`,
				`spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present`,
			},
		},
		{
			Name: "status", Reason: "the status of a condition is True, False or Unknown",
			Object: &apiregistrationv1.APIService{ObjectMeta: registrytest.ClusterStored("v1.a"), Status: apiregistrationv1.APIServiceStatus{
				Conditions: []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: "Perhaps"}},
			}},
			Old:    &apiregistrationv1.APIService{ObjectMeta: registrytest.ClusterStored("v1.a")},
			Status: true,
			Want:   []string{`status.conditions[0].status: Unsupported value: "Perhaps": supported values: "True", "False", "Unknown"`},
		},
	})
}
