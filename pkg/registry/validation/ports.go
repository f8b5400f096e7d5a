package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Protocols are the protocols that a port may have.
var Protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

// PortNumber checks that a port is between 1 and 65535.
func PortNumber(path *field.Path, port int32) field.ErrorList {
	var f Findings
	for _, msg := range utilvalidation.IsValidPortNum(int(port)) {
		f.Add(field.Invalid(path, port, msg))
	}
	return f.Errs
}

// PortNumberOrName checks the number or the name of a port.
func PortNumberOrName(path *field.Path, port intstr.IntOrString) field.ErrorList {
	switch port.Type {
	case intstr.Int:
		var f Findings
		for _, msg := range utilvalidation.IsValidPortNum(port.IntValue()) {
			f.Add(field.Invalid(path, port.IntValue(), msg))
		}
		return f.Errs
	case intstr.String:
		return Follows(utilvalidation.IsValidPortName, path, port.StrVal)
	default:
		return field.ErrorList{field.InternalError(path, fmt.Errorf("unknown type: %v", port.Type))}
	}
}
