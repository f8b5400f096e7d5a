package hookcalls

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/definition"
)

// conversionPath is the path at which the server converts ExtensionConfigs between versions. Only the server itself
// requests it.
const conversionPath = "/miniapi/v1/extensionconfigs/convert"

// maxReviewBytes is the largest size of a ConversionReview. A list of ExtensionConfigs is converted by one review.
const maxReviewBytes = 100 << 20

// convert answers a ConversionReview.
func convert(w http.ResponseWriter, req *http.Request) {
	var review apiextensionsv1.ConversionReview
	err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxReviewBytes)).Decode(&review)
	if err == nil && review.Request == nil {
		err = errors.New("request must be set")
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("the body must be a ConversionReview with a request: %v", err), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, object := range review.Request.Objects {
		converted, err := definition.Convert(object.Raw, review.Request.DesiredAPIVersion)
		if err != nil {
			response.ConvertedObjects = nil
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: converted})
	}
	review.Request, review.Response = nil, response
	writeJSON(w, review)
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // an error means that the client is gone
}
