package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
)

// newExtension returns an extension with two handlers.
func newExtension() (http.Handler, error) {
	c := catalog.New()
	if err := clusterapi.AddToCatalog(c); err != nil {
		return nil, err
	}
	return extension.New(extension.Options{Catalog: c},
		extension.Of(clusterapi.BeforeClusterCreate, "quota", checkQuota, extension.Timeout(5*time.Second)),
		extension.Of(clusterapi.BeforeClusterDelete, "backup", awaitBackup))
}

// cluster has the fields of a Cluster that the handlers read.
type cluster struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Topology struct {
			Workers struct {
				MachineDeployments []struct {
					Replicas int `json:"replicas"`
				} `json:"machineDeployments"`
			} `json:"workers"`
		} `json:"topology"`
	} `json:"spec"`
}

// defaultMaxWorkers is the limit if the ExtensionConfig doesn't have the setting maxWorkers.
const defaultMaxWorkers = 10

// checkQuota refuses a Cluster with more workers than the setting maxWorkers allows.
func checkQuota(_ context.Context, request *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
	response.Status = hooksv1.ResponseStatusFailure
	var c cluster
	if err := json.Unmarshal(request.Cluster.Raw, &c); err != nil {
		response.Message = fmt.Sprintf("the cluster can't be read: %v", err)
		return
	}
	quota := defaultMaxWorkers
	if setting := request.Settings["maxWorkers"]; setting != "" {
		var err error
		if quota, err = strconv.Atoi(setting); err != nil {
			response.Message = fmt.Sprintf("setting maxWorkers: %v", err)
			return
		}
	}
	workers := 0
	for _, deployment := range c.Spec.Topology.Workers.MachineDeployments {
		workers += deployment.Replicas
	}
	if workers > quota {
		response.Message = fmt.Sprintf("cluster %s has %d workers, and %d are allowed", c.Metadata.Name, workers, quota)
		return
	}
	response.Status = hooksv1.ResponseStatusSuccess
}

// backupDone is the annotation that a backup tool sets on a Cluster when the backup has finished.
const backupDone = "backup.example.com/done"

// awaitBackup delays the deletion of a Cluster until the Cluster has the annotation backupDone.
func awaitBackup(_ context.Context, request *clusterapi.BeforeClusterDeleteRequest, response *clusterapi.BeforeClusterDeleteResponse) {
	var c cluster
	if err := json.Unmarshal(request.Cluster.Raw, &c); err != nil {
		response.Status, response.Message = hooksv1.ResponseStatusFailure, fmt.Sprintf("the cluster can't be read: %v", err)
		return
	}
	response.Status = hooksv1.ResponseStatusSuccess
	if c.Metadata.Annotations[backupDone] == "" {
		response.RetryAfterSeconds = 30
		response.Message = fmt.Sprintf("cluster %s has no backup yet", c.Metadata.Name)
	}
}
