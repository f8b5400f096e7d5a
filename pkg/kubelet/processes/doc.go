// Package processes runs containers of pods as processes of this machine: those with the annotation
// [environment.Command]. They have the environment, the files, the probes, the restarts and the end that a kubelet gives
// to containers, and run as the user of this process. The other containers of such a pod pretend to run.
//
// [New] makes the [Runtime] of a server's kubelets. Don't use the package if users may create pods who may not run
// commands on this machine.
package processes
