package printers

// storageClassColumns, and the further kinds of the group.
var ()
