package openapi

import (
	"net/http"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// As in kube-apiserver, the documents describe one way of authentication, and the response to a request without it. The
// server may support other ways.
const (
	securityScheme = "BearerToken"
	unauthorized   = "Unauthorized"
)

func securityProps() spec.SecuritySchemeProps {
	return spec.SecuritySchemeProps{Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication"}
}

func security() []map[string][]string { return []map[string][]string{{securityScheme: {}}} }

func describeSecurity(config *common.Config) {
	config.SecurityDefinitions = &spec.SecurityDefinitions{securityScheme: {SecuritySchemeProps: securityProps()}}
	config.DefaultSecurity = security()
	config.CommonResponses = map[int]spec.Response{
		http.StatusUnauthorized: {ResponseProps: spec.ResponseProps{Description: unauthorized}},
	}
}

func describeSecurityV3(config *common.OpenAPIV3Config) {
	props := securityProps()
	config.SecuritySchemes = spec3.SecuritySchemes{securityScheme: {SecuritySchemeProps: spec3.SecuritySchemeProps{
		Type: props.Type, Name: props.Name, In: props.In, Description: props.Description,
	}}}
	config.DefaultSecurity = security()
	config.CommonResponses = map[int]*spec3.Response{
		http.StatusUnauthorized: {ResponseProps: spec3.ResponseProps{Description: unauthorized}},
	}
}
