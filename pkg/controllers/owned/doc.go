// Package owned has what the controllers share that own objects, above all pods: a ReplicaSet owns pods, and a
// Deployment owns ReplicaSets.
//
// An owner is named by the controller reference of an object. [Index] lets an informer find the objects of an owner, and
// [Owners] finds the owners of an object that has changed. [Claim] adopts and releases objects. [Pods] creates and deletes
// pods, with the Events that users know. [Order] decides which pods of an owner are deleted first.
//
// The package has no expectations as kube-controller-manager has them: the server answers a write when its informers
// have the write (see storage/informer.Barrier), so a controller finds its own writes in its informers. For a controller
// that runs in another process, use client-go's informers and expectations of your own.
package owned
