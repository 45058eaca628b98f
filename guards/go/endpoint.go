package guard

import (
	"context"
	"errors"
)

// ResourceFinder looks a resource up in the store of the service that owns it. It returns nil where there is none. An
// error is the service's own fault and refuses the call with INTERNAL.
type ResourceFinder func(ctx context.Context, resourceType, id string) (*Resource, error)

// ReadValue returns the text that a request has at a source; "" where there is none, or more than one.
type ReadValue func(from Source, field string) string

// EndpointOptions configures what endpoints have in common.
type EndpointOptions struct {
	// FindResource finds the resources that requirements name. Without it none is found, and such calls are refused.
	FindResource ResourceFinder
	// OnDeny hears of every refusal with its true reason, for the audit; the caller is nil where it is not known.
	OnDeny func(ctx context.Context, denial *Denial, caller *AuthContext)
}

// Endpoint is one requirement on one guard: what every transport of this module calls, and other transports can.
type Endpoint struct {
	guard       *Guard
	requirement Requirement
	options     EndpointOptions
}

// Endpoint returns an error where the requirement cannot be checked with what the transport can read.
func (g *Guard) Endpoint(requirement Requirement, options EndpointOptions, readable Readable) (*Endpoint, error) {
	if err := requirement.check(readable, false); err != nil {
		return nil, err
	}
	return &Endpoint{guard: g, requirement: requirement, options: options}, nil
}

// IsPublic reports whether the endpoint looks at no credential.
func (e *Endpoint) IsPublic() bool { return e.requirement.is == checkPublic }

// ReadsBody reports whether prepare has to read the request's body.
func (e *Endpoint) ReadsBody() bool { return e.requirement.readsBody() }

// Decide returns the caller of a call that may go on; nil where the requirement needs none. Its error is a [*Denial].
// Authorization is the headers as sent. Prepare reads the request; it is called only when the caller is known.
func (e *Endpoint) Decide(ctx context.Context, authorization []string, prepare func() ReadValue) (*AuthContext, error) {
	if e.IsPublic() {
		return nil, nil
	}
	caller, notKnown := e.guard.Authenticate(ctx, authorization)
	var request requestFacts
	var denial *Denial
	admitted := (*AuthContext)(nil)
	if notKnown == nil {
		request, denial = e.facts(ctx, prepare)
	}
	if denial == nil {
		admitted, denial = e.guard.authorize(ctx, caller, notKnown, e.requirement, request)
	}
	if denial == nil {
		return admitted, nil
	}
	if e.options.OnDeny != nil {
		e.options.OnDeny(ctx, denial, caller)
	}
	return nil, denial
}

// facts reads only what the requirement names.
func (e *Endpoint) facts(ctx context.Context, prepare func() ReadValue) (requestFacts, *Denial) {
	facts := requestFacts{tenants: map[tenantKey]string{}, resources: map[resourceKey]*Resource{}}
	var read ReadValue
	for _, check := range e.requirement.checks() {
		if (check.is != checkTenant && check.is != checkResourceAction) || check.from == FromToken {
			continue
		}
		if read == nil {
			read = prepare()
		}
		value := read(check.from, check.field)
		if value == "" {
			continue
		}
		if check.is == checkTenant {
			facts.tenants[tenantKey{check.from, check.field}] = value
			continue
		}
		if e.options.FindResource == nil {
			continue
		}
		resource, err := e.options.FindResource(ctx, check.resourceType, value)
		if err != nil {
			return facts, denialOf(errors.Join(errors.New("FindResource failed"), err))
		}
		if resource != nil {
			facts.resources[resourceKey{check.resourceType, check.from, check.field}] = resource
		}
	}
	return facts, nil
}
