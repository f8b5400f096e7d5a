package environment

import (
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// OfService returns the variables that tell containers the address of a Service. A Service without an address has none.
func OfService(service *corev1.Service) map[string]string {
	ip := service.Spec.ClusterIP
	if ip == "" || ip == corev1.ClusterIPNone || len(service.Spec.Ports) == 0 {
		return nil
	}
	name := variableName(service.Name)
	variables := map[string]string{name + "_SERVICE_HOST": ip}
	for i, port := range service.Spec.Ports {
		number, protocol := strconv.Itoa(int(port.Port)), string(port.Protocol)
		if protocol == "" {
			protocol = string(corev1.ProtocolTCP)
		}
		url := strings.ToLower(protocol) + "://" + net.JoinHostPort(ip, number)
		if i == 0 {
			variables[name+"_SERVICE_PORT"], variables[name+"_PORT"] = number, url
		}
		if port.Name != "" {
			variables[name+"_SERVICE_PORT_"+variableName(port.Name)] = number
		}
		prefix := name + "_PORT_" + number + "_" + strings.ToUpper(protocol)
		variables[prefix] = url
		variables[prefix+"_PROTO"] = strings.ToLower(protocol)
		variables[prefix+"_PORT"] = number
		variables[prefix+"_ADDR"] = ip
	}
	return variables
}

// variableName returns the name of a Service or of a port in names of variables.
func variableName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
