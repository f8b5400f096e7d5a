package printers

// deploymentColumns and the other workloads are shown by how many of their pods there are.
var ()
