package grpcguard

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"signet.dev/guard"
	authzv1 "signet.dev/guard/gen/signet/authz/v1"
)

// Message returns the caller as signet.authz.v1.AuthContext. Numbers in claims are doubles there.
func Message(caller *guard.AuthContext) (*authzv1.AuthContext, error) {
	claims := &structpb.Struct{}
	text, err := json.Marshal(caller.Claims())
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(text, claims); err != nil {
		return nil, err
	}
	message := &authzv1.AuthContext{
		Principal: principal(caller.Principal), IdentityId: caller.IdentityID, AppId: caller.AppID,
		TenantId: caller.TenantID, ContextId: caller.ContextID, SessionId: caller.SessionID,
		DeviceId: caller.DeviceID, TokenId: caller.TokenID, CredentialId: caller.CredentialID,
		Issuer: caller.Issuer, Audience: caller.Audience, Scopes: caller.Scopes.Slice(),
		Method: authzv1.AuthMethod(authzv1.AuthMethod_value[string(caller.Method)]), Claims: claims,
	}
	if grants, loaded := caller.Grants(); loaded {
		message.GrantsLoaded = true
		message.Roles, message.Permissions = grants.Roles.Slice(), grants.Permissions.Slice()
	}
	if delegation := caller.Delegation; delegation != nil {
		message.Actor = principal(delegation.Actor)
		message.Delegation = &authzv1.Delegation{
			Actor: principal(delegation.Actor), JobId: delegation.JobID,
			OriginSessionId: delegation.OriginSessionID, ExpiresAt: timestamppb.New(delegation.ExpiresAt),
		}
	}
	return message, nil
}

func principal(of guard.PrincipalRef) *authzv1.PrincipalRef {
	return &authzv1.PrincipalRef{Id: of.ID, Kind: authzv1.PrincipalKind(authzv1.PrincipalKind_value[string(of.Kind)])}
}
