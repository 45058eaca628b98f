package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	authzv1 "signet.dev/guard/gen/signet/authz/v1"
	authv1 "signet.example/notes/gen/signet/auth/v1"
)

type call struct {
	Target, Token, OtherToken string
	// The certificate to trust, as PEM; empty for HTTP/2 without TLS.
	CA string
	// A server without TLS that says why with more than 8 KiB.
	Crowded string
}

// look calls Signet and prints what it saw.
func look(given call) error {
	security := insecure.NewCredentials()
	if given.CA != "" {
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM([]byte(given.CA))
		security = credentials.NewClientTLSFromCert(trusted, "localhost")
	}
	connection, err := grpc.NewClient(given.Target, grpc.WithTransportCredentials(security))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	auth := authv1.NewAuthServiceClient(connection)
	as := func(token string) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}

	seen := map[string]any{}
	me, err := auth.Me(as(given.Token), &authv1.MeRequest{})
	if err != nil {
		return err
	}
	seen["principal"] = me.Principal.Id
	_, err = auth.Me(ctx, &authv1.MeRequest{})
	seen["anonymous"] = reasonOf(err)
	_, err = auth.Me(as(given.OtherToken), &authv1.MeRequest{})
	seen["other"] = reasonOf(err)
	crowded, err := grpc.NewClient(given.Crowded, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer crowded.Close()
	_, err = authv1.NewAuthServiceClient(crowded).Me(ctx, &authv1.MeRequest{})
	seen["crowded"] = reasonOf(err)

	watch, err := grpc_health_v1.NewHealthClient(connection).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return err
	}
	var health []string
	for {
		message, err := watch.Recv()
		if err == io.EOF {
			seen["ended"] = codes.OK.String()
			break
		}
		if err != nil {
			seen["ended"] = status.Code(err).String()
			break
		}
		health = append(health, message.Status.String())
		if len(health) == 1 {
			// Whoever started this stops the server now, and the stream says so.
			if err := json.NewEncoder(os.Stdout).Encode("watching"); err != nil {
				return err
			}
		}
	}
	seen["health"] = health
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// reasonOf reads the typed reason: of google.rpc.ErrorInfo, and the status that signet.authz.v1.Denial has for REST.
func reasonOf(err error) []any {
	rich := status.Convert(err)
	seen := []any{rich.Code().String()}
	for _, detail := range rich.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			seen = append(seen, detail.Domain, detail.Reason)
		case *authzv1.Denial:
			seen = append(seen, detail.StatusCode)
		}
	}
	return seen
}
