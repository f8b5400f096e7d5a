package registry

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
)

// flowcontrol is how requests share the server.
var flowcontrol = Group{
	Name: "flowcontrol.apiserver.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: flowcontrolv1.AddToScheme},
		{Name: "v1beta3", AddToScheme: flowcontrolv1beta3.AddToScheme, Legacy: true},
	},
	Kinds: []Kind{
		{
			Resource: "flowschemas",
			Object:   &flowcontrolv1.FlowSchema{}, List: &flowcontrolv1.FlowSchemaList{},
			Status:              true,
			StatusKeepsMetadata: true,
			Generation:          true,
		},
		{
			Resource: "prioritylevelconfigurations",
			Object:   &flowcontrolv1.PriorityLevelConfiguration{}, List: &flowcontrolv1.PriorityLevelConfigurationList{},
			Status:              true,
			StatusKeepsMetadata: true,
			Generation:          true,
		},
	},
}
