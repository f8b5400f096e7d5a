package printers

// namespaceColumns, and the further kinds of the core group that are shown by a few of their
// fields.
var ()
