package printers

// ingressClassColumns, and the further kinds of the group that are shown by a few of their
// fields.
var ()
