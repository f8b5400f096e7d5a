package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// RequestObject is a request of any hook except Discovery. A type implements it if it embeds CommonRequest and
// metav1.TypeMeta, and has a DeepCopyObject method.
type RequestObject interface {
	runtime.Object
	GetSettings() map[string]string
	SetSettings(map[string]string)
}

// ResponseObject is a response of any hook. A type implements it if it embeds CommonResponse and metav1.TypeMeta,
// and has a DeepCopyObject method.
type ResponseObject interface {
	runtime.Object
	GetStatus() ResponseStatus
	SetStatus(ResponseStatus)
	GetMessage() string
	SetMessage(string)
}

// RetryResponseObject is a response of a blocking hook. A type implements it if it embeds CommonRetryResponse and
// metav1.TypeMeta, and has a DeepCopyObject method.
type RetryResponseObject interface {
	ResponseObject
	GetRetryAfterSeconds() int32
	SetRetryAfterSeconds(int32)
}

// CommonRequest has the fields that the requests of all hooks except Discovery have.
type CommonRequest struct {
	// settings are the settings of the ExtensionConfig and of the caller. If both have a key, the caller's value
	// counts.
	// +optional
	Settings map[string]string `json:"settings,omitempty"`
}

// GetSettings returns the settings of the ExtensionConfig and of the caller.
func (r *CommonRequest) GetSettings() map[string]string { return r.Settings }

// SetSettings replaces all settings.
func (r *CommonRequest) SetSettings(settings map[string]string) { r.Settings = settings }

// ResponseStatus says whether a handler has succeeded.
// +enum
type ResponseStatus string

// The statuses of a response. Any other status is an error of the extension.
const (
	ResponseStatusSuccess ResponseStatus = "Success"
	ResponseStatusFailure ResponseStatus = "Failure"
)

// CommonResponse has the fields of all responses.
type CommonResponse struct {
	// status says whether the handler has succeeded.
	// +required
	Status ResponseStatus `json:"status"`

	// message explains the status to users.
	// +optional
	Message string `json:"message,omitempty"`
}

// GetStatus returns the status.
func (r *CommonResponse) GetStatus() ResponseStatus { return r.Status }

// SetStatus replaces the status.
func (r *CommonResponse) SetStatus(status ResponseStatus) { r.Status = status }

// GetMessage returns the text that explains the status to users.
func (r *CommonResponse) GetMessage() string { return r.Message }

// SetMessage replaces the text that explains the status to users.
func (r *CommonResponse) SetMessage(message string) { r.Message = message }

// CommonRetryResponse has the fields of all responses of blocking hooks.
type CommonRetryResponse struct {
	CommonResponse `json:",inline"`

	// retryAfterSeconds, if it isn't 0, blocks the operation: the caller calls all handlers of the hook again, after
	// about this time.
	// +required
	RetryAfterSeconds int32 `json:"retryAfterSeconds"`
}

// GetRetryAfterSeconds returns the number of seconds after which the caller calls again. It is 0 if the handler
// doesn't block.
func (r *CommonRetryResponse) GetRetryAfterSeconds() int32 { return r.RetryAfterSeconds }

// SetRetryAfterSeconds replaces the number of seconds after which the caller calls again.
func (r *CommonRetryResponse) SetRetryAfterSeconds(seconds int32) { r.RetryAfterSeconds = seconds }
