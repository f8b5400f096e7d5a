package faults

import "github.com/miniapi-dev/miniapi/pkg/miniapitest/fault"

// Fault is a fault in the form in which users write it, in files, in flags and in requests to [Path].
type Fault fault.Fault
