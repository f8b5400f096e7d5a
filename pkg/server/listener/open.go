package listener

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// Open opens the port of the options. For port 0, it opens a free port, because k8s.io/apiserver would open no port. If
// the options have a listener, Open does nothing.
func Open(serving *genericoptions.SecureServingOptions) error {
	if serving.Listener != nil {
		return nil
	}
	if serving.PermitPortSharing && serving.BindPort != 0 {
		return shareListener(serving)
	}
	address := net.JoinHostPort(serving.BindAddress.String(), strconv.Itoa(serving.BindPort))
	var err error
	if serving.Listener, err = net.Listen("tcp", address); err == nil {
		return nil
	}
	advice := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		advice = ": take another port, or 0 for a free port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		advice = ": take an address of this machine"
	}
	return fmt.Errorf("--bind-address %s --secure-port %d: %w%s", serving.BindAddress, serving.BindPort, err, advice)
}

// shareListener opens the port by k8s.io/apiserver, with the socket options that let other processes open the same
// port.
func shareListener(serving *genericoptions.SecureServingOptions) error {
	var info *genericapiserver.SecureServingInfo
	alone := genericoptions.SecureServingOptions{BindAddress: serving.BindAddress, BindPort: serving.BindPort, PermitPortSharing: true}
	if err := alone.ApplyTo(&info); err != nil {
		return fmt.Errorf("--bind-address %s --secure-port %d: %w", serving.BindAddress, serving.BindPort, err)
	}
	serving.Listener = info.Listener
	return nil
}
