package cli

import "github.com/spf13/cobra"

// Execute runs a program's command line. For an unknown command with the flag --help, it returns an error: cobra prints
// help without a check of the arguments, so it would print the help of the program, and succeed.
func Execute(root *cobra.Command) error {
	var unknown error
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() {
			unknown = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if unknown == nil {
			printHelp(cmd, args)
		}
	})
	if err := root.Execute(); err != nil {
		return err
	}
	return unknown
}
