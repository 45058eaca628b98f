package guard

import (
	"errors"
	"fmt"
	"maps"
)

// Reason says why a call was refused: the same string in every language and on every transport.
type Reason string

// Denial is an expected refusal. Its message and metadata may be shown to the caller.
type Denial struct {
	// Reason is what the caller is told.
	Reason Reason
	// TrueReason is for the audit: it differs from Reason where the caller must not learn whether a resource exists.
	TrueReason Reason
	// Metadata has facts for the caller: scope, permission or max_age.
	Metadata map[string]string

	step       int
	introspect bool
	cause      error
}

// NewDenial returns a refusal for a handler that refuses in the guard's own words.
func NewDenial(reason Reason, metadata map[string]string) *Denial {
	return &Denial{Reason: reason, TrueReason: reason, Metadata: maps.Clone(metadata), step: stepOf(reason)}
}

// Error implements error with the safe message and the reason.
func (d *Denial) Error() string { return fmt.Sprintf("%s (%s)", d.Message(), d.Reason) }

// Unwrap returns what caused an UNAVAILABLE or INTERNAL refusal. It is for logs, never for the caller.
func (d *Denial) Unwrap() error { return d.cause }

// Message returns a sentence that may be shown to the caller.
func (d *Denial) Message() string { return refusalOf(d.Reason).message }

// Status returns the HTTP status of the reason.
func (d *Denial) Status() int { return refusalOf(d.Reason).status }

// Code returns the gRPC status code of the reason.
func (d *Denial) Code() uint32 { return refusalOf(d.Reason).code }

// Step returns the step of the authorization algorithm that failed, 1 to 8; 0 for a fault.
func (d *Denial) Step() int { return d.step }

type refusal struct {
	code    uint32
	status  int
	message string
}

func refusalOf(reason Reason) refusal {
	if known, ok := refusals[reason]; ok {
		return known
	}
	return refusals[ReasonInternal]
}

// refuse returns an error whose reason is told to the caller.
func refuse(reason Reason) error { return NewDenial(reason, nil) }

// unavailable is told where something that the decision needs cannot be had.
func unavailable(cause error) error {
	denial := NewDenial(ReasonUnavailable, nil)
	denial.cause = cause
	return denial
}

// denialOf returns the refusal in an error. Any other error is a fault, and a fault lets nobody in.
func denialOf(err error) *Denial {
	var denial *Denial
	if errors.As(err, &denial) {
		return denial
	}
	fault := NewDenial(ReasonInternal, nil)
	fault.step, fault.cause = 0, err
	return fault
}

// stepOf returns the step that a verifier's reason belongs to.
func stepOf(reason Reason) int {
	switch reason {
	case ReasonNoCredential, ReasonMalformedCredential, ReasonPatNotBearer, ReasonProviderTokenNotAccepted,
		ReasonRefreshTokenNotBearer:
		return 1
	case ReasonPermissionsStale:
		return 3
	}
	switch refusalOf(reason).status {
	case 401:
		return 2
	case 403:
		return 8
	}
	return 0
}
