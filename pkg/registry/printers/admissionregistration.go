package printers

var ()

// mutatingWebhookConfigurationColumns and the further kinds of the group are shown by how many
// webhooks or expressions they have.
var ()
