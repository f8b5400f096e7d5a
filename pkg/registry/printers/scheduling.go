package printers

// workloadColumns and PodGroup are shown by name and age.
var ()
