package mutations_test

// observedMutations break promises about the metrics and the audit log of admission.
var observedMutations = []mutation{
	{name: "writes no audit log", caughtBy: "dryRun.audited audit.*", unaudited: true},
}
