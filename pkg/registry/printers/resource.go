package printers

// deviceClassColumns and the further kinds of dynamic resource allocation.
var ()
